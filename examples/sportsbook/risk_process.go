package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

const riskRole = "risk"

// riskVersion is the version of the risk service's model.
const riskVersion = "model-7"

// runRisk is the main function of the risk service.
func runRisk(ctx context.Context, _ []string) error {
	ctx = process.WithParent(ctx)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	service, err := risk.NewService(risk.ServiceConfig{Version: riskVersion, Judge: risk.ReferLargeStakes, Logger: logger})
	if err != nil {
		return err
	}
	return process.Serve(ctx, service, logger)
}
