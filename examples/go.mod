module github.com/settleonce/settleonce/examples

go 1.26.0

replace github.com/settleonce/settleonce => ../

require github.com/google/go-cmp v0.7.0
