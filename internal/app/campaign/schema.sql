-- What campaigns need beside River's tables, in the same schema. A change is a new file. Where an older sim
-- could not go on with it, it is a new number in the table version, too.
create table redlock_sim.version (version integer not null);
insert into redlock_sim.version values (1);

create table redlock_sim.campaign (
  id bigint generated always as identity primary key,
  -- build says which sim can carry it out: with another, seeds do not repeat.
  build text not null,
  definition jsonb not null,
  state text not null default 'running' check (state in ('running', 'done', 'cancelled', 'failed')),
  failure text not null default '',
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  -- Ranges below queued have had a job; what came of those below merged is in total.
  queued bigint not null default 0,
  merged bigint not null default 0,
  merged_runs bigint not null default 0,
  merged_violations bigint not null default 0,
  merged_ms bigint not null default 0,
  -- Behaviours are sampled so far in total: ranges need not tell of others.
  sampled smallint not null default 0,
  -- Somebody looked after it then.
  tended_at timestamptz not null default '-infinity'
);

-- An epoch is some ranges in a row, of equally many runs, but the last. Its runs know what came of
-- earlier epochs: that is ground.
create table redlock_sim.epoch (
  campaign bigint not null,
  epoch bigint not null,
  first_range bigint not null,
  ranges bigint not null,
  first_run bigint not null,
  range_runs bigint not null,
  runs bigint not null,
  ground bytea,
  primary key (campaign, epoch)
);

-- What came of a range; part is empty once it is merged. The row stays: it keeps the range from
-- being counted again.
create table redlock_sim.result (
  campaign bigint not null,
  range bigint not null,
  runs bigint not null,
  violations bigint not null,
  worker text not null,
  took_ms bigint not null,
  at timestamptz not null default now(),
  part bytea,
  -- The classes of violations of a shard among real servers; what came of other ranges is merged.
  found jsonb not null default '[]',
  primary key (campaign, range)
);
create index result_at on redlock_sim.result (campaign, at);

-- What came of all ranges that are merged, and what the next epoch will know.
create table redlock_sim.total (
  campaign bigint primary key,
  part bytea not null,
  ground bytea not null
);

-- How a campaign went on.
create table redlock_sim.point (
  campaign bigint not null,
  at timestamptz not null default now(),
  runs bigint not null,
  behaviours bigint not null,
  violations bigint not null,
  primary key (campaign, at)
);

create table redlock_sim.worker (
  id text primary key,
  host text not null,
  pid integer not null,
  build text not null,
  slots integer not null,
  busy integer not null default 0,
  ranges bigint not null default 0,
  runs bigint not null default 0,
  -- What campaigns may need for this worker to work on them.
  can text[] not null default '{}',
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);
