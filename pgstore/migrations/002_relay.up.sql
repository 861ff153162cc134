-- +goose Up

-- What relays share besides the events: who holds which lanes, and the events
-- that no destination takes.

CREATE TABLE {schema}.relays (
    id         bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
    epoch      bigint      NOT NULL DEFAULT 1,
    joined_at  timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT relays_pkey PRIMARY KEY (id),
    CONSTRAINT relays_fence_key UNIQUE (id, epoch)
) WITH (
    -- Few rows that are renewed all the time: room for the new version on the
    -- same page, so that no index is touched, and a vacuum that does not wait
    -- for a multiple of the table's size.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 200
);

COMMENT ON TABLE {schema}.relays IS
    'The relay processes that share the lanes. One whose time is up is removed by any other.';
COMMENT ON CONSTRAINT relays_fence_key ON {schema}.relays IS
    'Makes the epoch part of a key: a write about events locks its relay''s row FOR KEY SHARE, which then keeps a change of the epoch and the removal of the row waiting, but not a renewal.';
COMMENT ON COLUMN {schema}.relays.id IS
    'Never used again, so that a relay that was removed never takes another for itself.';
COMMENT ON COLUMN {schema}.relays.epoch IS
    'Rises when the relay gives lanes up. A write that names an older one does nothing.';
COMMENT ON COLUMN {schema}.relays.joined_at IS
    'The database clock, for the operator.';
COMMENT ON COLUMN {schema}.relays.expires_at IS
    'By the database clock. The relay itself counts from before it asked, and stops earlier.';

CREATE TABLE {schema}.lanes (
    lane  smallint NOT NULL,
    relay bigint,
    CONSTRAINT lanes_pkey PRIMARY KEY (lane),
    CONSTRAINT lanes_lane_check CHECK (lane BETWEEN 0 AND 255),
    CONSTRAINT lanes_relay_fkey FOREIGN KEY (relay) REFERENCES {schema}.relays (id) ON DELETE SET NULL
) WITH (
    -- As for the relays.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000
);

COMMENT ON TABLE {schema}.lanes IS
    'Who delivers the events of each lane. There are 256 rows, always.';
COMMENT ON CONSTRAINT lanes_relay_fkey ON {schema}.lanes IS
    'Frees the lanes of a relay in the transaction that removes it.';
COMMENT ON COLUMN {schema}.lanes.relay IS
    'Null: the lane is free.';

INSERT INTO {schema}.lanes (lane) SELECT pg_catalog.generate_series(0, 255);

CREATE TABLE {schema}.dead_letters (
    LIKE {schema}.events INCLUDING COMMENTS,
    reason         text        NOT NULL,
    attempts       bigint      NOT NULL,
    died_at        timestamptz NOT NULL,
    holds_back     boolean     NOT NULL,
    discarded_at   timestamptz,
    discard_reason text,
    CONSTRAINT dead_letters_pkey PRIMARY KEY (position),
    CONSTRAINT dead_letters_discard_check CHECK ((discarded_at IS NULL) = (discard_reason IS NULL))
);

CREATE INDEX dead_letters_lane_idx ON {schema}.dead_letters (lane, ordering_key)
    WHERE holds_back AND discarded_at IS NULL;

CREATE INDEX dead_letters_open_idx ON {schema}.dead_letters (position)
    WHERE discarded_at IS NULL;

COMMENT ON TABLE {schema}.dead_letters IS
    'Events that no destination takes. An operator requeues or discards them; a discarded one stays here until the operator deletes the row.';
COMMENT ON INDEX {schema}.dead_letters_lane_idx IS
    'The ordering keys that are held back, which every relay asks for often.';
COMMENT ON INDEX {schema}.dead_letters_open_idx IS
    'Those that an operator has to look at, however many were discarded.';
COMMENT ON COLUMN {schema}.dead_letters.position IS
    'That of the event, which it has again when it is requeued.';
COMMENT ON COLUMN {schema}.dead_letters.reason IS
    'What the destination said.';
COMMENT ON COLUMN {schema}.dead_letters.attempts IS
    'How often the relay that gave up had sent the event.';
COMMENT ON COLUMN {schema}.dead_letters.died_at IS
    'The database clock when the event was set aside.';
COMMENT ON COLUMN {schema}.dead_letters.holds_back IS
    'Whether the later events of the ordering key wait for this one.';
COMMENT ON COLUMN {schema}.dead_letters.discarded_at IS
    'The database clock when an operator discarded the event. Null: nobody has.';
COMMENT ON COLUMN {schema}.dead_letters.discard_reason IS
    'Why it was discarded.';

CREATE TABLE {schema}.requeues (
    count bigint NOT NULL
) WITH (
    fillfactor = 50
);

COMMENT ON TABLE {schema}.requeues IS
    'One row, whose count rises whenever a dead letter is requeued or discarded, so that relays notice. A sequence would rise before the commit, and a relay would look too early.';

INSERT INTO {schema}.requeues (count) VALUES (0);

INSERT INTO {schema}.migrations (version, name) VALUES (2, 'relay');
