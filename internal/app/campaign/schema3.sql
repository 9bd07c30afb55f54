-- A campaign has a request, as all of sim has it. An older sim could not go on with it.
update redlock_sim.version set version = 2;

update redlock_sim.campaign set definition = case when definition #>> '{real,command}' = 'audit' then
  jsonb_strip_nulls(jsonb_build_object(
    'request', jsonb_build_object('version', 1, 'audit', jsonb_strip_nulls(jsonb_build_object(
      'lock', jsonb_build_array(definition #> '{real,lock}'), 'world', 'live', 'nodes', definition #> '{real,nodes}',
      'guarantee', definition #> '{real,guarantees}', 'case', definition #> '{real,cases}',
      'seed', definition -> 'first', 'timeout', '10m0s', 'no-shorten', definition #> '{real,no_shorten}'))),
    'digest', definition #> '{real,digest}', 'shards', definition #> '{real,shards}'))
else
  jsonb_strip_nulls(jsonb_build_object(
    'request', jsonb_build_object('version', 1, 'search', jsonb_strip_nulls(jsonb_build_object(
      'world', case when definition ? 'real' then 'live' else 'virtual' end, 'lock', definition #> '{real,lock}',
      'scenario', definition -> 'file', 'variant', definition -> 'variant', 'property', definition -> 'properties',
      'kinds', definition -> 'kinds', 'bare', definition -> 'bare', 'unguided', definition -> 'unguided',
      'seed', definition -> 'first', 'seeds', definition -> 'runs', 'for', '0s'))),
    'scenario', definition -> 'scenario', 'digest', definition #> '{real,digest}', 'shards', definition #> '{real,shards}',
    'range_runs', definition -> 'range_runs', 'epoch_ranges', definition -> 'epoch_ranges'))
end;
