// Package webhook delivers events to HTTP endpoints, one's own or those of
// customers: CloudEvents over HTTP with the signatures of Standard Webhooks.
// [Sender] is an outbox's sender; [Verifier] is the receiver's half of the
// signatures.
//
// # The request
//
// POST, in one of the modes of the CloudEvents HTTP Protocol Binding 1.0.2:
//
//	Structured  application/cloudevents+json        one event in the body
//	Binary      the event's datacontenttype         its data in the body, its attributes in ce- headers
//	Batched     application/cloudevents-batch+json  a JSON array of events in the body
//
// The idempotency key (keytenant, keyscope, keyoperation, keyid), the ordering
// key (partitionkey), the fingerprint and the position (sequence) travel as
// extension attributes in every mode. In headers, space, double quote, percent
// and everything outside of printable ASCII are percent-encoded.
//
// Each request has the headers of Standard Webhooks:
//
//	webhook-id         the event's id; of a batch "batch_" and a hash over its events
//	webhook-timestamp  seconds since 1970, when this attempt began
//	webhook-signature  of each key "v1,base64" or "v1a,base64", with a space between them
//
// v1 is HMAC-SHA256, v1a Ed25519, over "id.timestamp.body". An event's id stands
// in percent-encoding where it holds what a header cannot, a percent sign or a
// full stop. A receiver that drops repeats by webhook-id needs ids that no two
// sources have in common, such as UUIDs; for a batch it must look at the events,
// since a batch may come again in another composition. In binary mode no
// signature covers the attributes, the event's key among them.
//
// # What an answer proves
//
// With [ProofReceipt], for receivers of ours: a receipt or a refusal that names
// the event's key and fingerprint, as package settlehttp has them, and nothing
// else. The answer to a batch has status 200 and the media type
// application/vnd.settleonce.answers+json: a JSON array with one element an
// event, in any order, found by its key:
//
//	{"mediatype": "application/vnd.settleonce.receipt+json", "document": {…}}
//	{"mediatype": "application/vnd.settleonce.refusal+json", "document": {…}}
//	{"mediatype": "application/problem+json", "key": {…}, "document": {…}}
//
// An event without a document of its own stays pending.
//
// With [ProofStatus], for receivers that are not ours: any status of the 200s but
// 207, which stands for several outcomes. That proves less than it seems to (I6). It says that something at that address
// which could end the TLS connection took the request and was content: a proxy,
// a login page or a queue in memory gives it as well as the program that was
// meant. It names neither event nor content, says nothing of what became of
// them, and does not survive the receiver's loss of its own memory. So it is
// [outbox.AckPublished], which a relay takes for proof only where its
// AcceptPublished says so too. Statuses that the endpoint lists are
// [outbox.AckRejected], which sets the record aside under the same condition.
//
// Everything else is an error, and the record stays: other statuses, redirects,
// which are never followed, and no answer at all. A batch that is answered with
// 400, 409, 413, 422, 431 or a listed status is divided and sent again in
// halves, so that an event which is refused is found and holds back itself
// alone.
//
// # Limits
//
// Each endpoint has its own: requests out at once, requests a second, bytes and
// events of a batch. A call that finds its endpoint at a limit waits for a
// place, since a relay that is told to come back later comes back after a
// back-off, and leaves the endpoint idle until then. But a call that waits is
// one of the relay's few, so no more wait than may be out, none for longer than
// half of the time that its context or the endpoint's Timeout leaves, and the
// rest is answered at once with [ErrBusy]. One slow endpoint thus holds at most
// twice its MaxInFlight of the relay's calls: choose the relay's Concurrency
// above that, or MaxInFlight below. A call with events for several endpoints,
// which only a sender with a [Batched] endpoint gets, takes as long as the
// slowest of them.
//
// # An endpoint that fails
//
// An endpoint that does not answer, or not in full, or with 429, 502, 503 or 504,
// is left alone: for as long as its Retry-After says, in seconds or as a date, up to
// MaxPause; without one for 100 ms, doubled at each further failure up to 30
// seconds. Its events are answered with [ErrPaused] at once. After the pause
// it gets one request at a time until one is answered otherwise. One that answers
// 410 Gone gets nothing more, and its events [ErrGone], until [Sender.Resume] or
// a new Sender: somebody must decide what becomes of the records. What an
// endpoint of ours says of one event alone, such as that it is in flight, is no
// failure.
//
// # Whose address it is
//
// URLs that customers choose may lead into one's own network. The sender
// connects to public addresses alone, unless the endpoint's
// AllowPrivateNetworks says otherwise. It looks at the address that it is about
// to connect to, not at the one that the name had when the URL was checked. It
// uses no proxy of the environment. A firewall between senders and everything
// internal is still the better half of the defence.
//
// # What is not promised
//
// An event may arrive more than once, and after a later one of its ordering key
// if a relay that was thought dead comes back; its position tells. A call never
// has two events of one ordering key in a batch. Nothing is fanned out: each
// event has one endpoint, because one record has one proof. Whoever needs two
// writes two events.
package webhook
