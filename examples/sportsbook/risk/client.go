package risk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"

	"github.com/settleonce/settleonce/examples/sportsbook/strictjson"
)

var (
	// ErrUnavailable is true where the service gave no answer, or said that it
	// cannot now. Asking again may help.
	ErrUnavailable = errors.New("risk: the service gave no opinion")
	// ErrRefused is true where the service does not take our request. The same
	// request is refused again.
	ErrRefused = errors.New("risk: the service refused the request")
	// ErrMalformed is true where an answer came that is no opinion, from
	// whoever gave it.
	ErrMalformed = errors.New("risk: the answer is no opinion")
)

// idleConnections is how many connections stay open for the next bets.
const idleConnections = 64

// ClientConfig says how a [Client] works.
type ClientConfig struct {
	// URL is the service's, such as "http://risk:8080", without a path. It
	// must be set.
	URL string
	// HTTP sends the requests. Their deadline is the context's. Nil: a client
	// that follows no redirects, and keeps enough connections for many bets at
	// once.
	HTTP *http.Client
}

// Client fetches evidence. Safe for concurrent use.
type Client struct {
	config ClientConfig
}

// NewClient returns a Client, or an error that names the wrong field.
func NewClient(config ClientConfig) (*Client, error) {
	parsed, err := url.Parse(config.URL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Hostname() == "" {
		return nil, errors.New("risk: ClientConfig: URL must be an absolute http or https URL with a host")
	}
	config.URL = strings.TrimSuffix(config.URL, "/")
	if config.HTTP == nil {
		config.HTTP = newHTTPClient()
	}
	return &Client{config}, nil
}

func newHTTPClient() *http.Client {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := standard.Clone()
		transport.MaxIdleConnsPerHost = idleConnections
		client.Transport = transport
	}
	return client
}

// Assess fetches evidence on a command. It is the Assess of acceptance.Risk: it
// asks once, and whether the evidence holds is the runner's to judge. The error
// is of one of the three kinds above.
func (c *Client) Assess(ctx context.Context, command *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
	body, err := json.Marshal(assessmentOf(command, sum))
	if err != nil {
		return acceptance.Evidence{}, fmt.Errorf("%w: not sent: %w", ErrRefused, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.URL+OpinionsPath, bytes.NewReader(body))
	if err != nil {
		return acceptance.Evidence{}, fmt.Errorf("%w: not sent: %w", ErrRefused, err)
	}
	request.Header.Set("Content-Type", mediaType)
	response, err := c.config.HTTP.Do(request)
	if err != nil {
		return acceptance.Evidence{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as it is wanted
	return evidenceOf(response)
}

// evidenceOf reads at most [maxBody] bytes of an answer.
func evidenceOf(response *http.Response) (acceptance.Evidence, error) {
	if err := checkStatus(response.StatusCode); err != nil {
		_, _ = io.CopyN(io.Discard, response.Body, maxBody) // to use the connection again
		return acceptance.Evidence{}, err
	}
	if got, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || got != mediaType {
		return acceptance.Evidence{}, fmt.Errorf("%w: its media type is not %s", ErrMalformed, mediaType)
	}
	text, err := strictjson.Read(response.Body, maxBody)
	if errors.Is(err, strictjson.ErrTooLong) {
		return acceptance.Evidence{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err != nil {
		return acceptance.Evidence{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var opinion Opinion
	if err := strictjson.Decode(text, &opinion); err != nil {
		return acceptance.Evidence{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := opinion.validate(); err != nil {
		return acceptance.Evidence{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return opinion.evidence(), nil
}

func checkStatus(status int) error {
	switch {
	case status == http.StatusOK:
		return nil
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return fmt.Errorf("%w: status %d", ErrUnavailable, status)
	case status >= http.StatusBadRequest:
		return fmt.Errorf("%w: status %d", ErrRefused, status)
	default:
		return fmt.Errorf("%w: status %d", ErrMalformed, status)
	}
}
