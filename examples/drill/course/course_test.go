package course_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/drill/course"
)

// noLimit is longer than any test.
const noLimit = time.Hour

var errStage = errors.New("connection refused")

// watchNothing is a watcher whom nothing troubles.
func watchNothing(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// untilTheEnd is a stage that fails once ctx is done, and does not say why.
func untilTheEnd(ctx context.Context) error {
	<-ctx.Done()
	return errStage
}

func TestStagesFollowEachOtherToTheFirstThatFails(t *testing.T) {
	t.Parallel()
	var played []string
	stage := func(name string, err error) course.Stage {
		return func(context.Context) error {
			played = append(played, name)
			return err
		}
	}
	config := course.Config{Limit: noLimit, Watch: watchNothing}
	if err := course.Run(t.Context(), config, stage("one", nil), stage("two", nil)); err != nil {
		t.Error(err)
	}
	if err := course.Run(t.Context(), config, stage("three", errStage), stage("four", nil)); !errors.Is(err, errStage) {
		t.Errorf("error %v, want that of the stage", err)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, played); diff != "" {
		t.Errorf("played (-want +got)\n%s", diff)
	}
}

func TestLimitIsTheCause(t *testing.T) {
	t.Parallel()
	err := course.Run(t.Context(), course.Config{Limit: time.Nanosecond, Watch: watchNothing}, untilTheEnd)
	if !errors.Is(err, course.ErrLimit) || !errors.Is(err, errStage) {
		t.Errorf("error %v, want the limit and what the stage says", err)
	}
}

func TestWatcherEndsTheStages(t *testing.T) {
	t.Parallel()
	died := errors.New("a role ended by itself")
	watch := func(context.Context) error { return died }
	err := course.Run(t.Context(), course.Config{Limit: noLimit, Watch: watch}, untilTheEnd)
	if !errors.Is(err, died) || errors.Is(err, course.ErrLimit) {
		t.Errorf("error %v, want the watcher's", err)
	}
	err = course.Run(t.Context(), course.Config{Limit: noLimit, Watch: watch}, watchNothing)
	if err == nil || err.Error() != died.Error() {
		t.Errorf("error %q, want the watcher's once", err)
	}
}

func TestWatcherHasEndedWhenTheRunHas(t *testing.T) {
	t.Parallel()
	ended := false
	watch := func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return nil
	}
	if err := course.Run(t.Context(), course.Config{Limit: noLimit, Watch: watch}); err != nil || !ended {
		t.Errorf("error %v, the watcher has ended: %v", err, ended)
	}
}
