package fingerprint

import "reflect"

// SamePlan reports whether two calls get the same plan for the type of value.
func SamePlan(value any) bool {
	t := reflect.TypeOf(value)
	return planOf(t) == planOf(t)
}
