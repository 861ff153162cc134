// Package event defines [Event], the one message type of settleonce: a
// CloudEvents 1.0 envelope with a typed idempotency [Key], an ordering key and
// a fingerprint.
//
// # Format
//
// The JSON form is CloudEvents' JSON Event Format. The typed fields travel as
// extension attributes:
//
//	keytenant, keyscope, keyoperation, keyid   Key
//	partitionkey                               OrderingKey (CloudEvents' Partitioning extension)
//	fingerprint                                Fingerprint, as "schema/version:sum"
//
// Reading is strict: duplicate members, unknown attributes of a type that an
// extension cannot have, and text behind the object are errors. Data of a JSON
// media type keeps its meaning but not its white space.
package event
