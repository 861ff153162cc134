-- The lobby's tables. They stand in a schema of the program's choice, which the
-- connections have as their search_path.

CREATE TABLE ratings (
	player  text PRIMARY KEY,
	rating  integer NOT NULL,
	initial integer NOT NULL -- kept for the audit: rating = initial + every change
);

CREATE TABLE rooms (
	room_id   text PRIMARY KEY,
	node      text NOT NULL,
	ended     boolean NOT NULL DEFAULT false
);

CREATE TABLE room_seats (
	room_id text NOT NULL REFERENCES rooms ON DELETE CASCADE,
	seat    integer NOT NULL,
	team    integer NOT NULL CHECK (team IN (1, 2)),
	player  text NOT NULL,
	PRIMARY KEY (room_id, seat)
);

-- Where each player is. It stands for what most games keep in memory or in a
-- cache, so no settlement touches it in its transaction.
CREATE TABLE presence (
	player  text PRIMARY KEY,
	room_id text,        -- NULL: idle
	since   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX presence_room ON presence (room_id);

-- No unique constraint on room_id here, nor on the tables below: the receipt
-- alone keeps a match from being settled twice, and the audit must be able to
-- see it if that fails.
CREATE TABLE matches (
	room_id text NOT NULL,
	winner  integer NOT NULL,
	suspect boolean NOT NULL,
	aborted boolean NOT NULL,
	reason  text NOT NULL
);
CREATE INDEX matches_room ON matches (room_id);

CREATE TABLE match_players (
	room_id text NOT NULL,
	player  text NOT NULL,
	team    integer NOT NULL,
	rated   integer NOT NULL,
	change  integer NOT NULL
);

CREATE TABLE replays (
	room_id text NOT NULL,
	path    text NOT NULL -- empty: there is no file
);

CREATE TABLE releases (
	room_id     text NOT NULL,
	player      text NOT NULL,
	released_by text NOT NULL,
	settled     boolean NOT NULL, -- whether the match had committed by then
	released_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE early_releases (
	room_id     text PRIMARY KEY,
	operator    text NOT NULL,
	reason      text NOT NULL,
	released_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The ratings of that moment, from which the match will be rated.
CREATE TABLE early_release_ratings (
	room_id text NOT NULL REFERENCES early_releases,
	player  text NOT NULL,
	rating  integer NOT NULL,
	PRIMARY KEY (room_id, player)
);
