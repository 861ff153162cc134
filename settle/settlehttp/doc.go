// Package settlehttp delivers terminal facts over HTTP: [Handler] is the
// receiver's end, [Sender] the one of an outbox. An HTTP status proves
// nothing here. What takes a record out of an outbox is a document that names
// the record's key and fingerprint, under a media type that no proxy's page
// and no echo has (I6).
//
// # The request
//
// POST, with one event in the body:
//
//	Content-Type: application/cloudevents+json
//
// This is CloudEvents' structured mode. Other media types are refused, so that
// a batch (application/cloudevents-batch+json) can be added without a change
// of meaning. Authentication covers the raw body and yields the tenant, which
// must be the tenant of the event's key (I10).
//
// # The answers
//
//	200  application/vnd.settleonce.receipt+json  the receipt: final outcome of the key
//	4xx  application/vnd.settleonce.refusal+json  a [Refusal]: never send this event again
//	any  application/problem+json                 a [Problem]: the sender keeps its record
//
// The document of a receipt has one member more where the receipt was stored
// under another schema of the fingerprint than the event's and the receiver
// compared the two under that: "confirms", the event's own fingerprint.
//
// A refusal is a problem document (RFC 9457) that names the key and the
// fingerprint of the event, and has a media type of its own. In both, the
// member type decides what happened, not the status:
//
//	refusal  TypeRefused              422  the receiver will never settle this
//	         TypeFingerprintMismatch  422  the key has a receipt for other content
//	         TypeKindMismatch         409  the key has a receipt for another kind
//	         TypeTransactionEnded     409  effects may be there without a receipt: people must look
//	problem  TypeInFlight             409  another attempt holds the key; Retry-After
//	         TypeOutcomeUnknown       503  it may have committed; Retry-After
//	         TypeWithheld             503  committed, the proof comes later; Retry-After
//	         TypeSchemaVersion        503  a newer build will know this fingerprint; Retry-After
//	         TypeUnavailable          503  not now, such as a database that is away; Retry-After
//	         TypeInternal             500  the receiver's fault
//	         TypeMalformed            400  the body is no valid event
//	         TypeUnauthenticated      401  nobody vouches for the request
//	         TypeForbidden            403  the key is another tenant's
//	         TypeMethod               405  not POST
//	         TypeTooLarge             413  the body is longer than the limit
//	         TypeMediaType            415  not an event in CloudEvents' JSON format
//
// # Why so little is refused
//
// A refusal makes the sender set its record aside, so it is given only for
// what sending again cannot mend. A body that is no valid event has no key to
// name in a refusal, and what came may not be what was sent: a proxy may have
// cut it, or the sender may be newer than the receiver. It is a problem of type
// [TypeMalformed]; the sender keeps the record and tells an operator. So it is
// with a wrong signature, a wrong tenant or a body that is too large: these are
// faults of a configuration, and mending it must find every record still there.
// Such a record holds back its own ordering key alone.
//
// The one refusal that does not say "never" is [TypeTransactionEnded]: each
// further delivery might double the effects that a faulty callback committed
// without a receipt, so the record must wait for a human, and the outbox's
// place for that is the one of refused records.
//
// # A consumer's inbox
//
// What comes need not ask for a settlement. Whoever consumes events takes them in
// the same way: HandlerConfig.Settle runs settle.Do in the consumer's own
// database, under the event's key and as kind settle.Settled, and what it writes
// there commits with the consumer's own receipt. So each event takes effect once
// in each consumer, and consumers share nothing, neither with each other nor with
// the sender.
//
// That takes a key for each fact. Two facts about one thing, such as that a bet
// was referred and that it was then accepted, are under one key a duplicate or a
// conflict, and the second is never taken.
//
// What the consumer will never take, it refuses with settle.Refuse. The relay then
// sets the event aside with that reason, for an operator, and its source may hold
// back what follows in the ordering key. Every other error has the relay come
// again, so it must not stand for what sending again cannot mend.
//
// The receipt keeps an event from being taken twice. Whether an event says what is
// newest, where only that is kept and no receipt is written with it, such as in a
// cache, is told by its position: keep it with what is kept, and leave out what is
// not above it. A delivery that comes late then changes nothing, and gets its
// receipt all the same.
//
// # What is not promised
//
// A receipt is not signed: it is as trustworthy as the connection, so use TLS.
// The handler sets no deadline: the server's ReadTimeout and the request's
// context bound it, and a sender that hangs up cancels the context. It holds a
// whole body in memory for each request, at most HandlerConfig.MaxBody.
package settlehttp
