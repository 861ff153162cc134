// Package loopback serves over HTTP, on this machine alone.
package loopback

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is an HTTP server on the loopback interface. Safe for concurrent use.
type Server struct {
	url     string
	server  *http.Server
	serving sync.WaitGroup
}

// Serve serves a handler on a free port until the server is closed. The end of
// ctx does not close it.
func Serve(ctx context.Context, handler http.Handler) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		url:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
	}
	s.serving.Go(func() { _ = s.server.Serve(listener) }) // ends when it is closed
	return s, nil
}

// URL is where it serves, without a slash at the end.
func (s *Server) URL() string { return s.url }

// Close ends the server at once, with the requests that are under way.
func (s *Server) Close() error {
	err := s.server.Close()
	s.serving.Wait()
	return err
}
