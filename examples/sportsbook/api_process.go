package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

const apiRole = "api"

// What nobody else is to read reaches the roles in their environment, since any
// account can list the arguments of a process.
const (
	playersVariable = "SPORTSBOOK_PLAYERS_PASSWORD"
	tradersVariable = "SPORTSBOOK_TRADERS_PASSWORD"
	// dsnVariable and decisionsDSNVariable have the fields of apiFlags, which
	// may hold a password.
	dsnVariable          = "SPORTSBOOK_DSN"
	decisionsDSNVariable = "SPORTSBOOK_DECISIONS_DSN"
)

// apiFlags is what the drill tells an API process.
type apiFlags struct {
	// decisionsDSN is for decisions, whose connections the drill may cut; dsn
	// is for everything else. Both empty: in memory.
	dsn, decisionsDSN string
	schema, receipts  string
	risk              string // the address of the risk service
	sabotage          string
	playersPassword   string
	tradersPassword   string
	// bets and cuts are for the memory: how large the world is, and how many
	// commits meet a fault.
	bets, cuts int
	seed       uint64
}

func (d *drill) apiFlags() apiFlags {
	flags := apiFlags{
		sabotage: d.options.sabotage, playersPassword: d.playersPassword, tradersPassword: d.tradersPassword,
		bets: d.options.bets, seed: d.options.seed,
	}
	if d.risk != nil {
		flags.risk = d.risk.URL()
	}
	if d.database != nil {
		flags.dsn, flags.schema, flags.receipts = d.database.DSN, d.database.Schema, d.database.ReceiptSchema
		if d.cutter != nil {
			flags.decisionsDSN = d.cutter.DSN()
		}
	} else if d.options.Arms(faults.CommitCut) {
		flags.cuts = d.cutCount()
	}
	return flags
}

func (f *apiFlags) parse(args []string) error {
	f.dsn, f.decisionsDSN = os.Getenv(dsnVariable), os.Getenv(decisionsDSNVariable)
	f.playersPassword, f.tradersPassword = os.Getenv(playersVariable), os.Getenv(tradersVariable)
	set := flag.NewFlagSet(apiRole, flag.ContinueOnError)
	set.StringVar(&f.schema, "schema", "", "")
	set.StringVar(&f.receipts, "receipts", "", "")
	set.StringVar(&f.risk, "risk", "", "")
	set.StringVar(&f.sabotage, "sabotage", "", "")
	set.IntVar(&f.bets, "bets", 0, "")
	set.IntVar(&f.cuts, "cuts", 0, "")
	set.Uint64Var(&f.seed, "seed", 0, "")
	return set.Parse(args)
}

func (f *apiFlags) args() []string {
	return []string{
		"-schema", f.schema, "-receipts", f.receipts, "-risk", f.risk, "-sabotage", f.sabotage,
		"-bets", fmt.Sprint(f.bets), "-cuts", fmt.Sprint(f.cuts), "-seed", fmt.Sprint(f.seed),
	}
}

func (f *apiFlags) env() []string {
	return []string{
		dsnVariable + "=" + f.dsn, decisionsDSNVariable + "=" + f.decisionsDSN,
		playersVariable + "=" + f.playersPassword, tradersVariable + "=" + f.tradersPassword,
	}
}

// runAPI is the main function of an API process.
func runAPI(ctx context.Context, args []string) error {
	var flags apiFlags
	if err := flags.parse(args); err != nil {
		return err
	}
	ctx = process.WithParent(ctx)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	backing, err := openBacking(ctx, flags)
	if err != nil {
		return err
	}
	defer backing.close()
	backing.store = faults.Instrument(backing.store, flags.sabotage)
	handler, err := newAPI(flags, backing, drillPace(), logger)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", hold.Requests(handler))
	if backing.memory != nil {
		mux.Handle("GET "+memoryPath, backing.memory)
	}
	return process.Serve(ctx, mux, logger)
}

// pace is how long others have to answer the house.
type pace struct {
	// risk bounds one call of the risk service, referral a trader's word.
	risk, referral time.Duration
}

// drillPace is shorter than one in the field, since a drill is to be over soon.
func drillPace() pace { return pace{risk: 500 * time.Millisecond, referral: 2 * time.Second} }

// newAPI opens a house on a backing, and its interface.
func newAPI(flags apiFlags, backing backing, pace pace, logger *slog.Logger) (http.Handler, error) {
	service, err := risk.NewClient(risk.ClientConfig{URL: flags.risk})
	if err != nil {
		return nil, err
	}
	bookmaker, err := house.New(house.Config{
		Tenant: tenant,
		Store:  backing.store,
		Books:  backing.books,
		Limits: house.Limits{Version: "limits-1"},
		Risk: acceptance.Risk{
			Assess: service.Assess, CallTimeout: pace.risk,
			Admissible: func(version string) bool { return version == riskVersion },
		},
		ReferralLifetime: pace.referral,
		Logger:           logger,
	})
	if err != nil {
		return nil, err
	}
	return api.New(api.Config{
		Tenant: tenant, Bets: bookmaker, Books: backing.books, Trading: backing.trading,
		Authenticate: api.DemoAuthenticator(flags.playersPassword, flags.tradersPassword),
		Unavailable:  unavailable,
		Logger:       logger,
	})
}

// unavailable reports whether the database is away, or was while it was asked.
func unavailable(err error) bool {
	if _, refused := errors.AsType[*pgconn.ConnectError](err); refused {
		return true
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) { // cut in the middle, or before
		return true
	}
	told, isTold := errors.AsType[*pgconn.PgError](err)
	return isTold && (strings.HasPrefix(told.Code, "57P") || strings.HasPrefix(told.Code, "08"))
}

// backing is where an API process keeps its books.
type backing struct {
	store   receipt.Store[house.Unit]
	books   house.Books
	trading house.Trading
	memory  http.Handler // shows the books that no other process could see
	close   func()
}

func openBacking(ctx context.Context, flags apiFlags) (backing, error) {
	if flags.dsn == "" {
		return inMemory(ctx, flags)
	}
	return inPostgres(ctx, flags)
}

// inPostgres uses two pools: what is read of the tables is no affair of a
// decision's connection.
func inPostgres(ctx context.Context, flags apiFlags) (backing, error) {
	reads, err := postgres.Connect(ctx, flags.dsn, flags.schema)
	if err != nil {
		return backing{}, err
	}
	decisions, err := postgres.Connect(ctx, flags.decisionsDSN, flags.schema)
	if err != nil {
		reads.Close()
		return backing{}, err
	}
	end := func() { decisions.Close(); reads.Close() }
	tables, err := postgres.New(postgres.Config{Pool: reads, Schema: flags.schema, Tenant: tenant})
	if err != nil {
		end()
		return backing{}, err
	}
	store, err := pgstore.New(pgstore.Config{Pool: decisions, Schema: flags.receipts})
	if err != nil {
		end()
		return backing{}, err
	}
	return backing{store: tables.Store(store), books: tables, trading: tables, close: end}, nil
}

// inMemory uses the fake. Its commits fail as they would when connections are
// cut, if the drill asks for it.
func inMemory(ctx context.Context, flags apiFlags) (backing, error) {
	database := memory.New(memory.Config{})
	opened := newWorld((&drill{options: options{bets: flags.bets}}).allScenes())
	if err := opened.open(ctx, database, database); err != nil {
		return backing{}, err
	}
	cuts := []receipttest.Fault{receipttest.LoseAnswer, receipttest.UnknownThenFound, receipttest.UnknownThenNotFound}
	if flags.sabotage == sabotage.SkipReceipt {
		// The others keep their locks until their key is asked for, which a
		// store without receipts never is: whoever bets next would wait for good.
		cuts = cuts[:1]
	}
	fake, err := receipttest.New(receipttest.Config[house.Unit]{
		World:  database,
		Faults: receipttest.Schedule(flags.seed, 2*flags.cuts, cuts...),
	})
	if err != nil {
		return backing{}, err
	}
	return backing{
		store: fake, books: database, trading: database,
		memory: showMemory(fake, database, cuts), close: func() {},
	}, nil
}
