// Package outbox holds the sender's half of the truth: facts that it still
// owes, and the engine that delivers them.
//
// A [Dir] keeps each fact as a file until a [Relay] has proof that the other
// side has its final outcome. The two meet in [Source] and [Sender], so that a
// relay can take from another place than a directory and deliver to any
// destination.
//
// # What holds
//
//   - What [Dir.Put] acknowledged survives a crash of the process and of the
//     machine, as far as the disk keeps what it reported as synced.
//   - A record leaves only against proof that names its key and its
//     fingerprint, and the relay itself compares them (I6). A bare success is
//     no proof, and a bare failure no refusal.
//   - Nothing is dropped, cut, overwritten or evicted. A disk that is full or
//     failing blocks Put (I7).
//   - Events of one ordering key are delivered one after the other, in the
//     order in which they were put; a failing one holds back its own ordering
//     key alone (I8).
//   - One that the receiver refuses for good becomes a dead letter, with the
//     reason, until an operator requeues it, to its old place, or discards it.
//
// # What does not hold
//
//   - Delivery is at least once. The receiver makes it once, by the key, and
//     must remember its receipts for longer than any sender's backlog.
//   - What Put has not acknowledged can die with the process.
//   - Two Puts that overlap have no order between them.
//   - A record that was put again after its delivery, or requeued under
//     [GoOn], comes after what was delivered meanwhile or is on its way.
//   - Of keys that fail by themselves, some 65,000 at once hold back no other;
//     more may. But where so many fail that the destination counts as down
//     ([RelayConfig.DownAfter]), those that were never sent wait for each other.
//   - Of what was set aside nothing is synced. A crash of the machine may make
//     it pending once more; then it is refused once more.
//   - Linux is what the durability was built for. macOS compiles and uses its
//     full sync; on other systems, Windows among them, [OpenDir] fails.
//   - The directory must be on a local file system. Network file systems have
//     their own ideas of locks and syncs.
//
// # The directory
//
// Each record is one file:
//
//	{key}-{time}.json
//	acme.match.settle.room-7-20260131150405.000000000.json
//
// The key's four parts are joined by dots. Lower-case letters, digits, '_' and
// (but for a part's first byte) '-' stand for themselves; every other byte is
// '%' and two lower-case hexadecimal digits, so no key leaves the directory,
// and no two differ by letter case alone. A key that would be longer than 160
// bytes ends, after its first 95 bytes, in '~' and the 64 hexadecimal digits
// of the SHA-256 of its binary form. The time is UTC with nanoseconds, in
// fixed width. It never repeats within a directory and never goes backwards,
// even if the clock does.
//
// The content is the event in CloudEvents' JSON format and a line feed, at most
// [MaxRecord] bytes. The file may be read, copied and deleted with any tool
// while no process has the directory open.
//
// Beside the records stand
//
//	{record}.bad         a dead letter: a record that was set aside, see [Dir.DeadLetters]
//	{record}.N.bad       the same, where {record}.bad was taken (N from 2)
//	{record}.discarded   a dead letter that was discarded, see [Dir.Discard]
//	{record}.N.discarded the same, where {record}.discarded was taken
//	{any of them}.reason why, as JSON: {"time":…,"reason":…,"attempts":…}; of a
//	                     discarded one also "discarded":{"time":…,"reason":…}
//	.draft-*             what a dead process left; swept when the directory is opened
//
// Every other file that ends in .json is set aside too; other names are left
// alone. What was discarded, or is a reason without its file, nobody reads any
// more: an operator may take it away at any time. The directory has mode 0700,
// its files 0600.
//
// # Dead letters
//
// [Lag] counts them, and [Frontier] says what else an operator should look at, in
// which order. [Dir.DeadLetters] lists them with their reasons. When the cause is
// mended, [Dir.Requeue] has one delivered; [Dir.Discard] gives up one that nobody
// will ever take. A directory is open in one process, which must offer these to
// its operators.
//
// What becomes of the rest of an ordering key when one of its events is a dead
// letter is a [DeadLetterPolicy], and the default differs with the source,
// because the facts do:
//
//   - In a directory it is [GoOn]. The facts of one ordering key mostly stand on
//     their own, as the results of matches do, and whoever wrote them is a
//     machine of which nobody looks every day. A result that no receiver takes
//     must not keep back those that it would take, and their players with them.
//   - In a table it is [HoldBack]. The facts of one ordering key build on each
//     other, as what happened to one wallet does. A consumer that misses one
//     would compute nonsense from the rest, which is harder to mend than a
//     delay that the lag shows.
//
// Set [DirConfig.DeadLetterPolicy] to HoldBack where the facts of a directory
// build on each other. What is held back then is written nowhere: it follows
// from the dead letters, which the directory reads when it is opened. One that
// can't be read as a record names no ordering key, and holds back nothing.
package outbox
