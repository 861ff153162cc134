package receipt

import (
	"errors"
	"fmt"
	"slices"
)

// Validate reports every field of c that breaks a rule, all at once. A store
// calls it before it opens anything, and may have narrower rules of its own.
func (c *Claim) Validate() error {
	var broken []error
	if err := c.Key.Validate(); err != nil {
		broken = append(broken, fmt.Errorf("receipt: claim: %w", err))
	}
	if c.Revision < 0 {
		broken = append(broken, fmt.Errorf("receipt: claim's revision must not be negative, is %d", c.Revision))
	}
	if c.Attempt == "" {
		broken = append(broken, errors.New("receipt: claim's attempt must be set"))
	}
	if c.Isolation != ReadCommitted && c.Isolation != Serializable {
		broken = append(broken, fmt.Errorf("receipt: claim's isolation must be ReadCommitted or Serializable, is %d", int(c.Isolation)))
	}
	if c.LockTimeout < 0 {
		broken = append(broken, fmt.Errorf("receipt: claim's lock timeout must not be negative, is %v", c.LockTimeout))
	}
	return errors.Join(append(broken, c.checkBeside()...)...)
}

func (c *Claim) checkBeside() []error {
	var broken []error
	if len(c.Beside) > MaxBeside {
		broken = append(broken, fmt.Errorf("receipt: claim must have at most %d keys beside its own, has %d", MaxBeside, len(c.Beside)))
	}
	for i, key := range c.Beside {
		add := func(rule error) {
			broken = append(broken, fmt.Errorf("receipt: claim's key beside %d of %d, %s: %w", i+1, len(c.Beside), key, rule))
		}
		if err := key.Validate(); err != nil {
			add(err)
		}
		if key.Tenant != c.Key.Tenant { // I10
			add(fmt.Errorf("must be of the claim's tenant %q", c.Key.Tenant))
		}
		if key == c.Key {
			add(errors.New("must not be the claim's own key"))
		}
		if slices.Contains(c.Beside[:i], key) {
			add(errors.New("must not stand twice"))
		}
	}
	return broken
}

// CheckReceipts reports why the receipts cannot be committed together by a
// session on c, every one that is wrong with its key. Each must be valid and
// of the claim's attempt, and must be the claimed one or the first of a key
// beside; none may stand twice.
func (c *Claim) CheckReceipts(receipts ...Receipt) error {
	var broken []error
	for i := range receipts {
		if err := c.checkReceipt(&receipts[i], receipts[:i]); err != nil {
			broken = append(broken, fmt.Errorf("receipt of %s, revision %d: %w", receipts[i].Key, receipts[i].Revision, err))
		}
	}
	return errors.Join(broken...)
}

func (c *Claim) checkReceipt(r *Receipt, before []Receipt) error {
	broken := []error{r.Validate()}
	claimed := r.Key == c.Key && r.Revision == c.Revision
	if !claimed && (r.Revision != 0 || !slices.Contains(c.Beside, r.Key)) {
		broken = append(broken, fmt.Errorf("must be revision %d of %s or the first receipt of a key beside it, as the claim says", c.Revision, c.Key))
	}
	if slices.ContainsFunc(before, func(other Receipt) bool { return other.Key == r.Key && other.Revision == r.Revision }) {
		broken = append(broken, errors.New("must not stand twice"))
	}
	if r.Attempt != c.Attempt {
		broken = append(broken, errors.New("attempt must be the claim's"))
	}
	return errors.Join(broken...)
}
