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
//	sequence                                   Position, in 19 digits (CloudEvents' Sequence extension)
//
// Reading is strict: duplicate members, attributes of a type that an extension
// cannot have, present but empty attributes, text that is not UTF-8 or has an
// unpaired surrogate, and text behind the object are errors. A null attribute
// is an absent one, but null data is data.
//
// Data of a JSON media type stands in the member data; it keeps its meaning
// but not its white space. Other data is written as data_base64, and keeps
// every byte; it is also read from a string in the member data, as UTF-8.
package event
