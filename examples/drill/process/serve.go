package process

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Serve is for the child: it listens on the loopback interface, tells the
// parent where, and serves until ctx is done.
func Serve(ctx context.Context, handler http.Handler, logger *slog.Logger) error {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	if err := Announce("http://" + listener.Addr().String()); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		// A connection that was opened and never used keeps Shutdown waiting.
		return server.Close()
	}
	return nil
}
