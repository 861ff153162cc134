package pgstore

// FenceLocks shows the numbers that processes must agree on.
func FenceLocks(f *Fence, subjects ...Subject) ([]int64, error) { return f.locks(subjects) }
