-- The house's tables. They stand in a schema of the program's choice, which the
-- connections have as their search_path.
--
-- Amounts are NUMERIC without precision and scale: numeric(10,2) would round
-- 10.999 to 11.00 and say nothing, where the check refuses it. NaN equals itself
-- here; the bound keeps it and infinities out. The house's currencies have at
-- most two decimals. The check is spelled out on each column, because a function
-- in its place is parsed anew by every statement. Odds are bounded as the money
-- package bounds them.
--
-- No table of what a bet does has a unique constraint on the bet: the receipt
-- alone keeps an effect from coming twice, and the audit must be able to see it
-- if that fails. For the same reason nothing forbids a negative balance: the
-- lock under which funds are compared does, and the audit looks for one. A house
-- that needs no such proof of it would add the check.

CREATE TABLE wallets (
	wallet text PRIMARY KEY,
	barred boolean NOT NULL DEFAULT false
);

-- What is at hand of the journal's sums, one row for each wallet and currency.
-- It is the row that bets on a wallet wait for. The room left in its pages lets
-- an update stay in its page.
CREATE TABLE balances (
	wallet    text    NOT NULL REFERENCES wallets,
	currency  text    NOT NULL,
	available numeric NOT NULL CHECK (available = round(available, 2) AND abs(available) < 1e36),
	held      numeric NOT NULL CHECK (held = round(held, 2) AND abs(held) < 1e36),
	PRIMARY KEY (wallet, currency)
) WITH (fillfactor = 70);

-- The journal is only ever added to. The house's own accounts have no balance:
-- it would be the row that all bets wait for.
CREATE TABLE journal_transactions (
	position       bigint GENERATED ALWAYS AS IDENTITY, -- the order within a wallet
	transaction_id text NOT NULL,
	movement       text NOT NULL,
	wallet         text NOT NULL,
	bet            text NOT NULL, -- empty: none
	attempt        text NOT NULL, -- the run that wrote it, as in its receipt; empty: none
	posted_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX journal_transactions_wallet ON journal_transactions (wallet);

CREATE TABLE journal_entries (
	transaction_id text     NOT NULL,
	entry          smallint NOT NULL, -- its place in the transaction, from 1 on
	account        text     NOT NULL,
	wallet         text     NOT NULL, -- empty: the account has no owner
	currency       text     NOT NULL,
	amount         numeric  NOT NULL CHECK (amount = round(amount, 2) AND abs(amount) < 1e36)
);
CREATE INDEX journal_entries_transaction ON journal_entries (transaction_id);

-- Each change of a market or of its selections changes this row, so that a
-- serialisable bet that locks it misses none of them.
CREATE TABLE markets (
	market         text    PRIMARY KEY,
	event          text    NOT NULL,
	line           text    NOT NULL,
	status         text    NOT NULL CHECK (status IN ('open', 'suspended', 'closed')),
	material       bigint  NOT NULL DEFAULT 1,
	revision       bigint  NOT NULL DEFAULT 1,
	cut_off        timestamptz, -- NULL: never
	stripes        integer NOT NULL CHECK (stripes > 0),
	result_version text,        -- NULL: there is no result yet
	winner         text,        -- NULL: the market does not count
	CHECK (result_version IS NULL OR status = 'closed')
) WITH (fillfactor = 50);

CREATE TABLE selections (
	market    text    NOT NULL REFERENCES markets,
	selection text    NOT NULL,
	odds      numeric NOT NULL CHECK (odds > 1 AND odds <= 1000000),
	tick      bigint  NOT NULL DEFAULT 1,
	PRIMARY KEY (market, selection)
) WITH (fillfactor = 50);

-- The limits of exposure in parts, see package exposure.
CREATE TABLE stripes (
	market    text    NOT NULL,
	selection text    NOT NULL,
	currency  text    NOT NULL,
	stripe    integer NOT NULL,
	"limit"   numeric NOT NULL CHECK ("limit" = round("limit", 2) AND abs("limit") < 1e36),
	taken     numeric NOT NULL DEFAULT 0 CHECK (taken = round(taken, 2) AND abs(taken) < 1e36),
	PRIMARY KEY (market, selection, currency, stripe),
	FOREIGN KEY (market, selection) REFERENCES selections
) WITH (fillfactor = 50);

CREATE TABLE bets (
	wallet    text    NOT NULL,
	bet       text    NOT NULL, -- the ID of the command that placed it
	kind      text    NOT NULL,
	currency  text    NOT NULL,
	stake     numeric NOT NULL CHECK (stake = round(stake, 2) AND abs(stake) < 1e36 AND stake > 0),
	payout    numeric NOT NULL CHECK (payout = round(payout, 2) AND abs(payout) < 1e36), -- if all legs win
	attempt   text    NOT NULL, -- the run that wrote it, as in its receipt
	placed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX bets_bet ON bets (wallet, bet);

CREATE TABLE bet_legs (
	wallet    text     NOT NULL,
	bet       text     NOT NULL,
	attempt   text     NOT NULL, -- tells the legs of a bet that came twice apart
	leg       smallint NOT NULL, -- its place in the bet, from 1 on
	market    text     NOT NULL,
	selection text     NOT NULL,
	odds      numeric  NOT NULL CHECK (odds > 1 AND odds <= 1000000),
	tick      text     NOT NULL
);
CREATE INDEX bet_legs_bet ON bet_legs (wallet, bet);
CREATE INDEX bet_legs_market ON bet_legs (market);

CREATE TABLE holds (
	wallet   text    NOT NULL,
	bet      text    NOT NULL,
	currency text    NOT NULL,
	amount   numeric NOT NULL CHECK (amount = round(amount, 2) AND abs(amount) < 1e36),
	attempt  text    NOT NULL
);

CREATE TABLE hold_ends (
	wallet   text    NOT NULL,
	bet      text    NOT NULL,
	consumed boolean NOT NULL, -- by the house; otherwise released to the player
	currency text    NOT NULL,
	amount   numeric NOT NULL CHECK (amount = round(amount, 2) AND abs(amount) < 1e36),
	attempt  text    NOT NULL
);

CREATE TABLE closings (
	wallet         text    NOT NULL,
	bet            text    NOT NULL,
	state          text    NOT NULL,
	result_version text    NOT NULL,
	currency       text    NOT NULL,
	payout         numeric NOT NULL CHECK (payout = round(payout, 2) AND abs(payout) < 1e36),
	rounding       text    NOT NULL,
	attempt        text    NOT NULL,
	closed_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX closings_bet ON closings (wallet, bet);

-- What each bet has taken of stripes. It stays when the bet is closed.
CREATE TABLE takes (
	wallet    text    NOT NULL,
	bet       text    NOT NULL,
	market    text    NOT NULL,
	selection text    NOT NULL,
	stripe    integer NOT NULL,
	currency  text    NOT NULL,
	amount    numeric NOT NULL CHECK (amount = round(amount, 2) AND abs(amount) < 1e36)
);
CREATE INDEX takes_bet ON takes (wallet, bet);

-- What a trader's desk lists. Whether a command is decided by now is what its
-- receipt says.
CREATE TABLE referrals (
	wallet     text    NOT NULL,
	bet        text    NOT NULL,
	currency   text    NOT NULL,
	stake      numeric NOT NULL CHECK (stake = round(stake, 2) AND abs(stake) < 1e36),
	expires_at timestamptz NOT NULL
);
