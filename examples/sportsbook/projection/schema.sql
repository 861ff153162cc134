-- The projection's tables. They stand in a schema of the program's choice, which
-- the connections have as their search_path.
--
-- No table has a unique constraint on the event: the receipt alone keeps an event
-- from being taken twice, and the audit must be able to see it if that fails. For
-- the same reason nothing forbids a sum below zero. The checks on amounts are
-- those of the house's own tables.

-- What came, in the order in which it was taken. Nothing in it is ever changed.
CREATE TABLE journal (
	arrival  bigint GENERATED ALWAYS AS IDENTITY,
	wallet   text   NOT NULL,
	bet      text   NOT NULL,
	became   text   NOT NULL,
	event_id text   NOT NULL,
	position bigint NOT NULL, -- of the event in the wallet's line
	currency text,            -- NULL: the fact is about no money
	stake    numeric CHECK (stake = round(stake, 2) AND abs(stake) < 1e36),    -- NULL: no bet was accepted
	payout   numeric CHECK (payout = round(payout, 2) AND abs(payout) < 1e36), -- NULL: no bet was closed
	attempt  text   NOT NULL, -- the run that wrote it, as in its receipt
	taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX journal_bet ON journal (wallet, bet);

-- How often something became of a wallet's bets.
CREATE TABLE counts (
	wallet text   NOT NULL,
	became text   NOT NULL,
	count  bigint NOT NULL,
	PRIMARY KEY (wallet, became)
) WITH (fillfactor = 70);

CREATE TABLE sums (
	wallet   text    NOT NULL,
	currency text    NOT NULL,
	staked   numeric NOT NULL, -- on all bets
	at_stake numeric NOT NULL, -- on those that are open
	returned numeric NOT NULL, -- for those that are closed
	PRIMARY KEY (wallet, currency)
) WITH (fillfactor = 70);

-- What was staked on bets with a leg on a market: the whole stake on each of its
-- markets.
CREATE TABLE turnovers (
	market   text    NOT NULL,
	currency text    NOT NULL,
	bets     bigint  NOT NULL,
	staked   numeric NOT NULL,
	PRIMARY KEY (market, currency)
) WITH (fillfactor = 70);

-- The newest thing that is known of each wallet. It is written outside of the
-- transactions that the receipts are in, as a cache would be.
CREATE TABLE latest (
	wallet   text PRIMARY KEY,
	position bigint NOT NULL,
	bet      text   NOT NULL,
	became   text   NOT NULL
) WITH (fillfactor = 70);

-- Wallets whose events are refused.
CREATE TABLE refused (
	wallet text PRIMARY KEY
);
