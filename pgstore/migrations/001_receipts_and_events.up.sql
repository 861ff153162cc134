-- +goose Up

-- Everything lives in {schema}. The text columns of keys have collation "C":
-- they are compared byte by byte, which is what the keys mean, and no update of
-- the operating system's locale data can corrupt their indexes.

CREATE TABLE {schema}.receipts (
    tenant         text COLLATE "C" NOT NULL,
    scope          text COLLATE "C" NOT NULL,
    operation      text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    revision       integer     NOT NULL,
    requested_kind text        NOT NULL,
    outcome_kind   text        NOT NULL,
    fingerprint    text        NOT NULL,
    value          bytea,
    canonical      bytea,
    ordering_key   text        NOT NULL,
    attempt        text        NOT NULL,
    recorded_at    timestamptz NOT NULL,
    CONSTRAINT receipts_pkey PRIMARY KEY (tenant, scope, operation, id, revision),
    CONSTRAINT receipts_revision_check CHECK (revision >= 0)
);

COMMENT ON TABLE {schema}.receipts IS
    'The final outcome of each idempotency key, committed with the side effects that it stands for. A row must outlive every sender that may still deliver its key.';
COMMENT ON CONSTRAINT receipts_pkey ON {schema}.receipts IS
    'The real guard against a second receipt. The advisory lock on the key only spares duplicates the work.';
COMMENT ON COLUMN {schema}.receipts.revision IS
    '0 for the first receipt of a key, the next number for each correction.';
COMMENT ON COLUMN {schema}.receipts.requested_kind IS
    'What was asked for. The outcome may be of another kind: a request to settle may end aborted.';
COMMENT ON COLUMN {schema}.receipts.fingerprint IS
    'The receiver''s digest of the request, with the name and version of its schema.';
COMMENT ON COLUMN {schema}.receipts.value IS
    'The outcome as it was given, bytes and not json, so that a replay returns the same bytes.';
COMMENT ON COLUMN {schema}.receipts.canonical IS
    'The canonical form that was fingerprinted, if it is kept, so that a conflict can name the fields.';
COMMENT ON COLUMN {schema}.receipts.ordering_key IS
    'Empty if the key itself orders.';
COMMENT ON COLUMN {schema}.receipts.attempt IS
    'The run of the callback whose effects committed with this row. It tells an unknown commit that succeeded from a rival''s. It is null, and the insert fails, where the transaction is no longer the one that the run began.';
COMMENT ON COLUMN {schema}.receipts.recorded_at IS
    'The database clock when the row was written. It is not the time of the commit.';

CREATE TABLE {schema}.events (
    position          bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
    lane              smallint    NOT NULL,
    ordering_key      text COLLATE "C" NOT NULL,
    partition_key     text        NOT NULL,
    source            text COLLATE "C" NOT NULL,
    event_id          text COLLATE "C" NOT NULL,
    type              text        NOT NULL,
    subject           text        NOT NULL,
    event_time        text        NOT NULL,
    data_schema       text        NOT NULL,
    data_content_type text        NOT NULL,
    data              bytea,
    fingerprint       text        NOT NULL,
    extensions        text,
    tenant            text COLLATE "C" NOT NULL,
    scope             text COLLATE "C" NOT NULL,
    operation         text COLLATE "C" NOT NULL,
    id                text COLLATE "C" NOT NULL,
    attempt           text        NOT NULL,
    recorded_at       timestamptz NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (position, lane),
    CONSTRAINT events_lane_check CHECK (lane BETWEEN 0 AND 255)
) WITH (
    -- A queue: every row dies soon, so what is dead grows with the throughput
    -- and has nothing to do with the size. A share of the size would let a
    -- table that is empty between bursts fill with dead rows, and one with a
    -- backlog of millions go without vacuum until millions of rows are dead.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    -- Ten times the standard pace: a busy relay leaves some ten thousand dead
    -- rows a second, and its index scans wade through what vacuum has not
    -- reached yet.
    autovacuum_vacuum_cost_limit = 2000,
    autovacuum_vacuum_cost_delay = 2,
    -- A vacuum for inserts alone would freeze and mark pages that are empty
    -- before anybody profits.
    autovacuum_vacuum_insert_threshold = -1,
    -- The statements of the relay don't depend on statistics, which are old
    -- as soon as they are made.
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000,
    -- Giving the end of the file back takes a lock that stops every commit
    -- with an event, here and on standbys, and the next burst needs the space
    -- again.
    vacuum_truncate = false,
    -- The same for long data, which lives and dies with its row.
    toast.autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_threshold = 10000,
    toast.autovacuum_vacuum_cost_limit = 2000,
    toast.autovacuum_vacuum_cost_delay = 2,
    toast.autovacuum_vacuum_insert_threshold = -1,
    toast.vacuum_truncate = false
);

COMMENT ON TABLE {schema}.events IS
    'Committed facts that have not been delivered, as CloudEvents 1.0. A row is deleted when its delivery is proven.';
COMMENT ON CONSTRAINT events_pkey ON {schema}.events IS
    'Positions are unique by themselves. The lane is there so that the table can be partitioned by it, and so that a relay passes over lanes that are not its own inside the index.';
COMMENT ON COLUMN {schema}.events.position IS
    'Strictly increasing with the commits of one ordering key, because it is taken under that ordering key''s lock. It has gaps, and says nothing across ordering keys. A sequence cache above 1 would break it.';
COMMENT ON COLUMN {schema}.events.lane IS
    'The first byte of the SHA-256 of the ordering key. Relays share the lanes among themselves, so one ordering key has one relay.';
COMMENT ON COLUMN {schema}.events.ordering_key IS
    'The full name of the line in which the event stands: its key, or its tenant and its partition key.';
COMMENT ON COLUMN {schema}.events.partition_key IS
    'The ordering key that the event itself carries. Empty if its key orders.';
COMMENT ON COLUMN {schema}.events.event_id IS
    'With the source, the identity of the event, which never changes.';
COMMENT ON COLUMN {schema}.events.subject IS
    'Empty: absent.';
COMMENT ON COLUMN {schema}.events.event_time IS
    'RFC 3339, and text because timestamptz keeps neither the zone nor nanoseconds. Empty: absent.';
COMMENT ON COLUMN {schema}.events.data_schema IS
    'Empty: absent.';
COMMENT ON COLUMN {schema}.events.data_content_type IS
    'Empty: application/json.';
COMMENT ON COLUMN {schema}.events.data IS
    'The fact itself, bytes and not json, so that it leaves as it came. Null: absent, which empty is not.';
COMMENT ON COLUMN {schema}.events.fingerprint IS
    'The sender''s digest of everything that changes the effect, with the name and version of its schema.';
COMMENT ON COLUMN {schema}.events.extensions IS
    'A JSON object of the further attributes: strings, booleans and integers of 32 bits. Null: none.';
COMMENT ON COLUMN {schema}.events.tenant IS
    'With scope, operation and id, the idempotency key of the effect that the event asks for or reports.';
COMMENT ON COLUMN {schema}.events.attempt IS
    'That of the receipt with which the event was committed.';
COMMENT ON COLUMN {schema}.events.recorded_at IS
    'The database clock when the row was written, for the age of the oldest.';

INSERT INTO {schema}.migrations (version, name) VALUES (1, 'receipts_and_events');
