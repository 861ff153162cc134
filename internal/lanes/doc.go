// Package lanes is what a table of events needs to be an [outbox.LeasedSource]
// for any number of relay processes: which lanes are whose, for how long, and
// where in the table each relay stands. It knows no SQL; a [Table] carries out
// what it decides.
//
// # Lanes
//
// An event's ordering key puts it into one of [Count] lanes. A relay process
// joins the table and holds lanes; it hands out events of its own lanes only.
//
//   - A relay's membership is one row with an id, an epoch and an expiry by the
//     table's clock. Ids never repeat. Whatever takes lanes away from a relay
//     raises its epoch or removes its row.
//   - Every write about events (deletion, dead letter) carries id and epoch and
//     does nothing unless the row still has them; it locks that row against
//     change until it has committed. So no write of a relay that has lost a
//     lane takes effect after the loss.
//   - A member that has not renewed in time is removed by any other; its lanes
//     are free, and are taken by whoever has fewer than its share, which is the
//     number of lanes divided by that of members, rounded up. From a relay's
//     last renewal to there it takes no longer than [Config.Lease].
//   - A relay counts its own lease from before it sent the renewal, on the wall
//     clock and on the monotonic clock, because one of them stands still in a
//     suspended machine, and gives itself a margin. Past it, nothing more is
//     sent: what a relay that wakes after a pause can still publish is what was
//     in a call to the sender when it was paused.
//   - The table's clock is believed. Where it is set forward, members are removed
//     early, and until they notice, at their next renewal or write, they may
//     deliver what others deliver too. The first deliveries keep their order.
//   - A relay that gives lanes up hands out nothing more of them, waits for
//     the calls that are out, and only then lets go of them.
//   - A relay that does not know which lanes it has, because an answer was lost,
//     ends its membership in the same way, and joins anew. One that does not
//     know whether it joined leaves a member behind, and the others leave it a
//     share, until its time is up.
//
// # Positions
//
// Positions rise with the commits of one ordering key and not across ordering
// keys: an event may become visible below one that was handed out long ago, and
// the next one of its ordering key above that. So a relay that only reads on
// would hand out the second first. A relay keeps
//
//   - a frontier: everything that was visible up to it has been seen. New
//     events are read past it;
//   - which transactions were open when the frontier passed. Only they can have
//     events below it that were not seen. When one of them has ended, and not
//     before, the relay looks for such events, between the frontier and where
//     it stood when it first found the transaction open, and hands out nothing
//     that it has just read before it knows that nothing earlier of the same
//     ordering key is there (I8). Where that is a long way, it looks for the
//     ordering keys at hand alone, and leaves the rest to the background.
//
// Nothing waits for a transaction, and it does not matter for how long one is
// open: there is no watermark, and an unrelated one hides nothing. A backlog
// that nobody adds to is read without any look back.
//
// From time to time, when a dead letter was requeued or discarded, and when the
// table answers again after a call that failed, the relay rescans everything
// below the frontier, in the background, and asks anew what is held back. That
// finds what no transaction tells of: what a crash of the database brought back,
// since deletions need not be durable, and what was requeued. Looks in the background
// read positions only, and take a bounded part of the time, a twentieth and a
// fifth: what an old snapshot makes expensive becomes rarer instead.
//
// # What it takes
//
// A relay with nothing to do makes 1.4 queries a second with the defaults: one
// poll each [Config.MaxPoll], a renewal each nine fiftieths of [Config.Lease] on
// average, and a rescan now and then.
//
// Memory is bounded by the ordering keys of which something is handed out, was
// released, or was passed over because the relay leaves the key out: each takes
// about 200 bytes and its name, however many events it has, and a key that a
// dead letter holds back half of that. The events themselves are read again when
// they are handed out.
package lanes
