package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle/settlehttp"

	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/match/faults"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/lobby/memory"
	"github.com/settleonce/settleonce/examples/match/lobby/postgres"
	"github.com/settleonce/settleonce/examples/match/result"
)

const lobbyRole = "lobby"

// What nobody else is to read reaches the roles in their environment, since any
// account can list the arguments of a process.
const (
	// secretVariable has the secret that battle nodes sign with.
	secretVariable = "ARENA_SECRET"
	// dsnVariable and settlementDSNVariable have the fields of lobbyFlags,
	// which may hold a password.
	dsnVariable           = "ARENA_DSN"
	settlementDSNVariable = "ARENA_SETTLEMENT_DSN"
)

// lobbyFlags is what the drill tells a lobby.
type lobbyFlags struct {
	// settlementDSN is for settlements, whose connections the drill may cut;
	// dsn is for everything else. Both empty: in memory.
	dsn, settlementDSN string
	schema, receipts   string
	deliveries         string
	sabotage           string
	// players and cuts are for the memory: how many players there are, and
	// how many commits meet a fault.
	players, cuts int
	seed          uint64
}

func (f *lobbyFlags) parse(args []string) error {
	f.dsn, f.settlementDSN = os.Getenv(dsnVariable), os.Getenv(settlementDSNVariable)
	set := flag.NewFlagSet(lobbyRole, flag.ContinueOnError)
	set.StringVar(&f.schema, "schema", "", "")
	set.StringVar(&f.receipts, "receipts", "", "")
	set.StringVar(&f.deliveries, "deliveries", "", "")
	set.StringVar(&f.sabotage, "sabotage", "", "")
	set.IntVar(&f.players, "players", 0, "")
	set.IntVar(&f.cuts, "cuts", 0, "")
	set.Uint64Var(&f.seed, "seed", 0, "")
	return set.Parse(args)
}

func (f *lobbyFlags) args() []string {
	return []string{
		lobbyRole, "-schema", f.schema, "-receipts", f.receipts,
		"-deliveries", f.deliveries, "-sabotage", f.sabotage, "-players", fmt.Sprint(f.players), "-cuts", fmt.Sprint(f.cuts),
		"-seed", fmt.Sprint(f.seed),
	}
}

func (f *lobbyFlags) env() []string {
	return []string{dsnVariable + "=" + f.dsn, settlementDSNVariable + "=" + f.settlementDSN}
}

// runLobby is the main function of a lobby.
func runLobby(ctx context.Context, args []string) error {
	var flags lobbyFlags
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
	arena, err := lobby.New(lobby.Config{Store: backing.store, Rooms: heldRooms{backing.rooms}, Logger: logger})
	if err != nil {
		return err
	}
	deliveries, err := lobby.OpenDeliveryLog(flags.deliveries)
	if err != nil {
		return err
	}
	authenticate, err := settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{
		Keys: []settlehttp.HMACKey{{ID: nodeName, Tenant: result.Tenant, Secret: []byte(os.Getenv(secretVariable))}},
	})
	if err != nil {
		return err
	}
	results, err := settlehttp.NewHandler(settlehttp.HandlerConfig{
		Authenticate: authenticate,
		Settle:       arena.SettleLogged(deliveries),
		Logger:       logger,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+faults.ResultsPath, hold.Requests(results))
	mux.Handle("/", arena.Handler())
	if backing.memory != nil {
		mux.Handle("GET /memory", backing.memory)
	}
	return errors.Join(process.Serve(ctx, mux, logger), deliveries.Close())
}

// backing is where a lobby keeps its books.
type backing struct {
	store  receipt.Store[lobby.Repository]
	rooms  lobby.Rooms
	memory http.Handler // shows the books that no other process could see
	close  func()
}

func openBacking(ctx context.Context, flags lobbyFlags) (backing, error) {
	open := inPostgres
	if flags.dsn == "" {
		open = inMemory
	}
	opened, err := open(ctx, flags)
	if err != nil {
		return backing{}, err
	}
	switch flags.sabotage {
	case sabotage.SkipReceipt:
		opened.store = sabotage.WithoutReceipts(opened.store)
	case faults.ReleaseBeforeCommit:
		opened.store = faults.ReleasingEarly(opened.store, func(ctx context.Context, id string) error {
			_, err := opened.rooms.Release(ctx, id)
			return err
		})
	}
	return opened, nil
}

// heldRooms lets the drill catch a lobby between a commit and the release of
// its players.
type heldRooms struct{ lobby.Rooms }

func (r heldRooms) Release(ctx context.Context, id string) (int, error) {
	hold.Here(ctx, faults.HoldRelease)
	return r.Rooms.Release(ctx, id)
}

// inPostgres uses two pools: where players are is no affair of a settlement's
// connection.
func inPostgres(ctx context.Context, flags lobbyFlags) (backing, error) {
	rooms, err := postgres.Connect(ctx, flags.dsn, flags.schema)
	if err != nil {
		return backing{}, err
	}
	settlements, err := postgres.Connect(ctx, flags.settlementDSN, flags.schema)
	if err != nil {
		rooms.Close()
		return backing{}, err
	}
	store, err := pgstore.New(pgstore.Config{Pool: settlements, Schema: flags.receipts})
	if err != nil {
		rooms.Close()
		settlements.Close()
		return backing{}, err
	}
	return backing{
		store: receipt.Map(store, postgres.NewRepository),
		rooms: postgres.NewRooms(rooms),
		close: func() { settlements.Close(); rooms.Close() },
	}, nil
}

// inMemory uses the fake. Its commits fail as they would when connections are
// cut, if the drill asks for it.
func inMemory(_ context.Context, flags lobbyFlags) (backing, error) {
	database := memory.New(playerNames(flags.players))
	cuts := []receipttest.Fault{receipttest.LoseAnswer, receipttest.UnknownThenFound, receipttest.UnknownThenNotFound}
	fake, err := receipttest.New(receipttest.Config[lobby.Repository]{
		World:  database,
		Faults: receipttest.Schedule(flags.seed, 2*flags.cuts, cuts...),
	})
	if err != nil {
		return backing{}, err
	}
	return backing{store: fake, rooms: database, memory: showMemory(fake, database, cuts), close: func() {}}, nil
}

// memoryBooks is what a lobby in memory shows of itself.
type memoryBooks struct {
	Settled int `json:"settled"`
	// Receipts are those of the room that was asked for.
	Receipts []receipt.Receipt `json:"receipts"`
	// Tables is set where no room was asked for.
	Tables *lobby.Tables `json:"tables"`
	// Cuts is how many commits met a fault.
	Cuts int `json:"cuts"`
}

// showMemory answers GET /memory, and GET /memory?room=ID more quickly.
func showMemory(fake *receipttest.Fake[lobby.Repository], database *memory.Database, cuts []receipttest.Fault) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shown := memoryBooks{Settled: database.Settled()}
		for _, fault := range cuts {
			shown.Cuts += fake.Fired(fault)
		}
		var err error
		if room := r.URL.Query().Get("room"); room != "" {
			shown.Receipts, err = fake.History(r.Context(), result.Key(room))
		} else {
			var tables lobby.Tables
			tables, err = database.Tables(r.Context())
			tables.Events = fake.Events()
			shown.Tables = &tables
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(shown) // an error is a client that has gone
	}
}

func playerNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("player-%03d", i+1)
	}
	return names
}
