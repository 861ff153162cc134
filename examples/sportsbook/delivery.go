package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/loopback"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/drill/wait"
	"github.com/settleonce/settleonce/examples/sportsbook/audit"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/projection"
)

// deliveryPatience is how long the drill waits for what a delivery brings about.
const deliveryPatience = 15 * time.Second

// relayNames are the relay processes of a drill.
func relayNames() []string { return []string{"relay-a", "relay-b"} }

// consumer is a projection's database, and what the relays sign with.
type consumer struct {
	*database.Database
	secret string
}

// openConsumer makes a projection's schemas beside those of the house, in which
// it finds nothing of the house's.
func openConsumer(ctx context.Context, house *database.Database) (consumer, error) {
	opened, err := database.Open(ctx, database.Config{
		DSN: house.DSN, Name: "sportsbook_projection", Connect: projection.Connect, Create: projection.Create,
	})
	return consumer{opened, rand.Text() + rand.Text()}, err
}

// projectionConfig is how its process is started.
func (c *consumer) projectionConfig(sabotage, logPath string) process.Config {
	flags := projectionFlags{dsn: c.DSN, secret: c.secret, schema: c.Schema, receipts: c.ReceiptSchema, sabotage: sabotage}
	return process.Config{Name: projectionRole, Args: flags.args(), Env: flags.env(), LogPath: logPath}
}

// relayConfig is how a relay from a house's outbox is started.
func (c *consumer) relayConfig(house *database.Database, name, to, logPath string) process.Config {
	flags := relayFlags{dsn: house.DSN, secret: c.secret, receipts: house.ReceiptSchema, name: name, to: to}
	return process.Config{Name: name, Args: flags.args(), Env: flags.env(), LogPath: logPath}
}

// delivery is what lies between the house's outbox and its consumer in a drill.
type delivery struct {
	consumer consumer
	// view reads the projection's tables without asking its process.
	view *projection.Projection
	// events is the operator's way to the outbox. It relays nothing.
	events *pgstore.Events

	projection *process.Role
	relays     []*process.Role
	proxy      *faults.Deliveries
	// server is nil before the proxy is started.
	server *loopback.Server
}

// startDelivery starts the projection, the proxy before it, and the relays.
func (d *drill) startDelivery(ctx context.Context) (err error) {
	if d.database == nil {
		return nil
	}
	v := &delivery{}
	d.delivery = v
	if v.consumer, err = openConsumer(ctx, d.database); err != nil {
		return err
	}
	if v.view, err = projection.New(projection.Config{Pool: v.consumer.Pool, Store: v.consumer.Store}); err != nil {
		return err
	}
	if v.events, err = pgstore.NewEvents(pgstore.EventsConfig{Store: d.database.Store, Logger: d.logger}); err != nil {
		return err
	}
	v.proxy = faults.NewDeliveries(faults.DeliveriesConfig{Client: d.client})
	if v.server, err = loopback.Serve(ctx, v.proxy); err != nil {
		return err
	}
	v.projection = process.OfThisProgram(v.consumer.projectionConfig(d.options.sabotage, d.directory.log(projectionRole)))
	if err := v.startProjection(ctx); err != nil {
		return fmt.Errorf("%w; %s", err, v.projection.LastLines())
	}
	for _, name := range relayNames() {
		relay := process.OfThisProgram(v.consumer.relayConfig(d.database, name, v.server.URL(), d.directory.log(name)))
		v.relays = append(v.relays, relay)
		if err := relay.Start(ctx); err != nil {
			return fmt.Errorf("%w; %s", err, relay.LastLines())
		}
	}
	return nil
}

func (v *delivery) startProjection(ctx context.Context) error {
	if err := v.projection.Start(ctx); err != nil {
		return err
	}
	v.proxy.SetProjection(v.projection.URL())
	return nil
}

// roles returns its processes. The nil delivery has none.
func (v *delivery) roles() []*process.Role {
	if v == nil || v.projection == nil {
		return nil
	}
	return append([]*process.Role{v.projection}, v.relays...)
}

// relay returns the relay process of a name.
func (v *delivery) relay(name string) (*process.Role, error) {
	for _, relay := range v.relays {
		if relay.Name() == name {
			return relay, nil
		}
	}
	return nil, fmt.Errorf("there is no relay %q", name)
}

// killProjection kills the projection and has it started again.
func (d *drill) killProjection(ctx context.Context) (syscall.Signal, error) {
	d.delivery.proxy.SetProjection("")
	return d.restarts.Kill(ctx, d.delivery.projection, d.delivery.startProjection, d.logger)
}

// stop ends the relays before what they deliver to. The nil delivery has nothing
// to end.
func (v *delivery) stop(ctx context.Context) error {
	if v == nil {
		return nil
	}
	var err error
	for _, role := range slices.Backward(v.roles()) {
		if stopErr := role.Stop(ctx); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("%w; %s", stopErr, role.LastLines()))
		}
	}
	if v.server != nil {
		err = errors.Join(err, v.server.Close())
	}
	if v.events != nil {
		err = errors.Join(err, v.events.Close(ctx))
	}
	if v.consumer.Database != nil {
		err = errors.Join(err, v.consumer.Close(ctx))
	}
	return err
}

// lettersAtOnce is how many dead letters are listed at once.
const lettersAtOnce = 100

// deadLetters returns what the outbox has set aside.
func (v *delivery) deadLetters(ctx context.Context) ([]outbox.DeadLetter, error) {
	var found []outbox.DeadLetter
	for after := ""; ; {
		page, err := v.events.DeadLetters(ctx, after, lettersAtOnce)
		if err != nil {
			return nil, err
		}
		for _, letter := range page {
			if letter.Event == nil {
				return nil, fmt.Errorf("the event of dead letter %s cannot be read", letter.ID)
			}
			found = append(found, letter)
			after = letter.ID
		}
		if len(page) < lettersAtOnce {
			return found, nil
		}
	}
}

// collect adds what has become of the events. Where nothing delivers them, the
// facts are as they were.
func (v *delivery) collect(ctx context.Context, facts *audit.Facts) (err error) {
	if v == nil {
		return nil
	}
	letters, err := v.deadLetters(ctx)
	if err != nil {
		return err
	}
	for _, letter := range letters {
		facts.DeadLetters = append(facts.DeadLetters, *letter.Event)
	}
	facts.Projection = &audit.Projection{}
	if facts.Projection.Tables, err = v.view.Tables(ctx); err != nil {
		return err
	}
	facts.Projection.Receipts, err = v.consumer.Receipts(ctx)
	return err
}

// soon waits for what a delivery brings about. errors.Is(err,
// [faults.ErrNotCaught]) is true where it takes too long.
func soon(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, deliveryPatience, faults.ErrNotCaught)
	defer cancel()
	return wait.Until(ctx, done)
}

// deadLetterOf waits for a dead letter of a wallet.
func (v *delivery) deadLetterOf(ctx context.Context, wallet string) (found outbox.DeadLetter, err error) {
	err = soon(ctx, func() (bool, error) {
		letters, err := v.deadLetters(ctx)
		i := slices.IndexFunc(letters, func(l outbox.DeadLetter) bool { return l.Event.OrderingKey == wallet })
		if i >= 0 {
			found = letters[i]
		}
		return i >= 0, err
	})
	return found, err
}

// taken waits until the projection has taken the first event about a bet.
func (v *delivery) taken(ctx context.Context, reference bet.Reference) (first projection.Entry, err error) {
	err = soon(ctx, func() (bool, error) {
		entries, err := v.view.Entries(ctx, reference)
		if len(entries) > 0 {
			first = entries[0]
		}
		return len(entries) > 0, err
	})
	return first, err
}

// mend is what an operator does for a wallet whose events are refused: it has the
// projection take them again, and requeues those that were set aside. It does
// nothing where nothing is refused.
func (v *delivery) mend(ctx context.Context, wallet string) error {
	if err := v.view.TakeAgain(ctx, wallet); err != nil {
		return err
	}
	letters, err := v.deadLetters(ctx)
	for _, letter := range letters {
		if letter.Event.OrderingKey == wallet {
			err = errors.Join(err, v.events.Requeue(ctx, letter.ID))
		}
	}
	return err
}
