package settlehttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

const (
	defaultTimeout   = 5 * time.Second
	defaultMaxAnswer = 4 << 20
	acceptedTypes    = receipt.MediaType + ", " + RefusalMediaType + ", " + ProblemMediaType
)

// SenderConfig says how a [Sender] works.
type SenderConfig struct {
	// URL is where events are posted: absolute, http or https, with a host,
	// without user information and fragment. Use https where the network is
	// not your own. It must be set.
	URL string

	// Client sends the requests. The sender uses a copy that follows no
	// redirect. Nil is a client of the sender's own, which takes its proxy
	// from the environment.
	Client *http.Client

	// Sign adds to a request what vouches for it, such as a signature over
	// the body in a header. It must neither change nor keep the body. An
	// error, or a panic, means that the request is not sent. Nil sends it as
	// it is. It may be called concurrently.
	Sign func(r *http.Request, body []byte) error

	// Timeout bounds each request from its begin to the last byte of its
	// answer. Zero is 5 seconds.
	Timeout time.Duration

	// MaxAnswer is the greatest length of an answer's body in bytes. Zero is
	// 4 MiB, which holds every receipt.
	MaxAnswer int64

	// Now is the clock that a Retry-After date is compared with. Nil is
	// time.Now.
	Now func() time.Time
}

func (c SenderConfig) validate() error {
	var broken []string
	target, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		broken = append(broken, "URL must be set")
	case err != nil || target.Hostname() == "" || target.Scheme != "http" && target.Scheme != "https":
		broken = append(broken, "URL must be an absolute http or https URL with a host")
	case target.User != nil || target.Fragment != "":
		broken = append(broken, "URL must have neither user information nor a fragment")
	}
	if c.Timeout < 0 {
		broken = append(broken, fmt.Sprintf("Timeout must not be negative, is %v", c.Timeout))
	}
	if c.MaxAnswer < 0 {
		broken = append(broken, fmt.Sprintf("MaxAnswer must not be negative, is %d", c.MaxAnswer))
	}
	return configError("SenderConfig", broken)
}

func (c SenderConfig) withDefaults() SenderConfig {
	client := http.Client{Transport: newTransport()}
	if c.Client != nil {
		client = *c.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Client = &client
	if c.Sign == nil {
		c.Sign = func(*http.Request, []byte) error { return nil }
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.MaxAnswer == 0 {
		c.MaxAnswer = defaultMaxAnswer
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// newTransport keeps a connection for each of a relay's concurrent requests to
// its one host; the default transport keeps two.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Sender delivers events to a [Handler], one a request. What it returns as an
// Ack is what the answer's document says, for the relay to compare (I6);
// every other answer is an error for which errors.As finds an [*AnswerError],
// and no answer at all is the transport's error.
//
// A redirect is not followed: it is an answer without proof. Its target was
// never configured, and would get the event and whatever vouches for it; 301,
// 302 and 303 would even turn the POST into a GET of some page. Whoever moves
// a receiver changes the senders' URL.
//
// Safe for concurrent use.
type Sender struct {
	config SenderConfig
}

var _ outbox.Sender = (*Sender)(nil)

// NewSender returns a Sender, or an error that names every wrong field of
// config.
func NewSender(config SenderConfig) (*Sender, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Sender{config.withDefaults()}, nil
}

// errHeldBack is the answer of an event that was not sent.
var errHeldBack = errors.New("settlehttp: not sent: an earlier event of the same ordering key has no proof yet")

// Send posts the events of batch one after the other. An event whose ordering
// key has failed earlier in the batch is not sent, so that none overtakes
// another (I8).
func (s *Sender) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	answers := make([]outbox.Answer, len(batch))
	failed := make(map[string]bool)
	for i := range batch {
		ordering := batch[i].Ordering()
		if failed[ordering] {
			answers[i].Err = errHeldBack
			continue
		}
		answers[i] = s.send(ctx, &batch[i])
		failed[ordering] = answers[i].Err != nil
	}
	return answers
}

func (s *Sender) send(ctx context.Context, e *event.Event) outbox.Answer {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	request, err := s.request(ctx, e)
	if err != nil {
		return outbox.Answer{Err: err}
	}
	response, err := s.config.Client.Do(request)
	if err != nil {
		return outbox.Answer{Err: fmt.Errorf("settlehttp: no answer: %w", err)}
	}
	defer discard(response.Body)
	ack, err := ReadProof(response, s.config.MaxAnswer)
	if err != nil {
		return outbox.Answer{Err: err, EventAlone: eventAlone(err), RetryAfter: RetryAfter(response.Header, s.config.Now())}
	}
	return outbox.Answer{Ack: ack}
}

// request returns the signed request that carries e.
func (s *Sender) request(ctx context.Context, e *event.Event) (*http.Request, error) {
	body, err := e.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("settlehttp: not sent: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("settlehttp: not sent: %w", err)
	}
	request.Header.Set("Content-Type", event.MediaType)
	request.Header.Set("Accept", acceptedTypes)
	if err := protect("Sign", func() error { return s.config.Sign(request, body) }); err != nil {
		return nil, fmt.Errorf("settlehttp: not sent: Sign: %w", err)
	}
	return request, nil
}
