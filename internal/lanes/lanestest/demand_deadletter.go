package lanestest

import (
	"errors"

	"github.com/settleonce/settleonce/outbox"
)

func deadLetterDemands() []demand {
	return []demand{
		{"requeue", "a dead letter that is requeued is pending at its old position, whole, before what it held back", checkRequeue},
		{"requeue-again", "an event can be buried and requeued any number of times, and says each time why", checkRequeueAgain},
		{"discard", "a dead letter that is discarded is neither pending nor a dead letter, and what it held back goes on", checkDiscard},
		{"requeued", "Requeued rises with each dead letter that is requeued or discarded, and every member is told", checkRequeued},
		{"no-dead-letter", "requeueing and discarding what is no dead letter is ErrNoDeadLetter and changes nothing", checkNoDeadLetter},
	}
}

func checkRequeue(t *trial) {
	ticket := t.holder()
	for _, e := range t.manyShapes() {
		t.begin(e)()
	}
	rows := t.all()
	for _, row := range rows {
		t.bury(ticket, row.Position, refusal("no"), true)
	}
	t.wantPending()
	later := t.put(rows[0].Event.OrderingKey)
	for i := range rows {
		letter := t.letterAt(rows[i].Position)
		if got, want := t.text(letter.Event), t.text(&rows[i].Event); got != want {
			t.Errorf("the dead letter at position %d is of\n%.1000s\nwant\n%.1000s", rows[i].Position, got, want)
		}
		t.requeue(letter.ID)
	}
	t.wantPending(append(rows, later...)...)
}

func checkRequeueAgain(t *trial) {
	ticket := t.holder()
	row := t.put("a")[0]
	for i, reason := range []string{"first", "second", "third"} {
		t.bury(ticket, row.Position, outbox.Refusal{Reason: reason, Attempts: i + 1}, true)
		letter := t.theLetter()
		if letter.Reason != reason || letter.Attempts != i+1 {
			t.Errorf("the dead letter says %q after %d attempts; want %q after %d", letter.Reason, letter.Attempts, reason, i+1)
		}
		t.requeue(letter.ID)
		t.wantPending(row)
	}
	t.remove(ticket, row.Position)
	t.wantPending()
}

func checkDiscard(t *trial) {
	ticket := t.holder()
	rows := t.put("a", "a")
	t.bury(ticket, rows[0].Position, refusal("no"), true)
	t.discard(t.theLetter().ID)
	if letters := t.letters(); len(letters) > 0 {
		t.Errorf("after Discard there are %d dead letters", len(letters))
	}
	t.wantPending(rows[1])
	t.wantHeldBack(allLanes())
}

func checkRequeued(t *trial) {
	ticket, other := t.holder(), t.join()
	rows := t.put("a", "b")
	last := t.renew(ticket).Requeued
	t.bury(ticket, rows[0].Position, refusal("no"), true)
	t.bury(ticket, rows[1].Position, refusal("no"), false)
	letters := t.letters()
	for name, change := range map[string]func(){
		"Requeue": func() { t.requeue(letters[0].ID) },
		"Discard": func() { t.discard(letters[1].ID) },
	} {
		change()
		told, toldOther := t.renew(ticket).Requeued, t.renew(other).Requeued
		if told <= last || toldOther != told {
			t.Errorf("after %s members are told %d and %d; want the same, above %d", name, told, toldOther, last)
		}
		last = told
	}
	if again := t.renew(ticket).Requeued; again < last {
		t.Errorf("Requeued fell from %d to %d", last, again)
	}
}

func checkNoDeadLetter(t *trial) {
	ticket := t.holder()
	rows := t.put("a", "b")
	t.bury(ticket, rows[0].Position, refusal("no"), true)
	id := t.theLetter().ID
	t.requeue(id)
	for _, gone := range []string{id, "", "no such", "999999999999999999999999"} {
		if err := t.DeadLetters.Requeue(t.patient(), gone); !errors.Is(err, outbox.ErrNoDeadLetter) {
			t.Errorf("Requeue(%q) = %v; want ErrNoDeadLetter", gone, err)
		}
		if err := t.DeadLetters.Discard(t.patient(), gone, "no"); !errors.Is(err, outbox.ErrNoDeadLetter) {
			t.Errorf("Discard(%q) = %v; want ErrNoDeadLetter", gone, err)
		}
	}
	t.wantPending(rows...)
}
