-- The resource in PostgreSQL: the scripts of this package in a third tongue. Each
-- function takes the keys and arguments of its script and answers what it answers.
-- A function runs in one transaction; an advisory lock lets them run one by one.

create table numbers (key text primary key, value bigint not null);
create table lists (key text primary key, elements text[] not null);
create table fences (key text primary key, token text not null, client text not null);
create table effects (number bigserial primary key, entry text not null);

create function admit(keys text[], args text[], out accepted boolean, out highest text) as $$
declare
  op text := args[1]; caller text := args[2]; mine text := args[4]; fence text := args[5];
  holder text; registers boolean := false;
begin
  perform pg_advisory_xact_lock(1);
  select token, client into highest, holder from fences where key = keys[2];
  highest := coalesce(highest, '');
  accepted := true;
  if fence = 'compare-and-set' then
    registers := op = 'read' and mine <> '';
    accepted := registers or (op <> 'read' and mine <> '' and mine = highest);
  elsif fence <> 'none' and not (fence = 'writes-only' and op = 'read') then
    accepted := mine <> '';
    if accepted and highest <> '' then
      accepted := mine::bigint > highest::bigint
        or (mine::bigint = highest::bigint and (caller = holder or fence = 'equal-token'));
    end if;
    registers := accepted;
  end if;
  if registers then
    insert into fences values (keys[2], mine, caller)
      on conflict (key) do update set token = excluded.token, client = excluded.client;
  end if;
end $$ language plpgsql;

create function flag(b boolean) returns text as $$ select case when b then '1' else '0' end $$ language sql;

-- tell logs an effect, and tells whoever listens.
create function tell(args text[], accepted boolean, highest text, shown text) returns void as $$
declare
  told text := array_to_string(array[args[1], args[2], args[3], args[4], shown, flag(accepted), highest,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint::text, args[6]], '|');
begin
  insert into effects (entry) values (told);
  perform pg_notify('effects', told);
end $$ language plpgsql;

create function number_of(k text, initial text) returns bigint as $$
  select coalesce((select value from numbers where key = k), initial::bigint)
$$ language sql;

create function put(k text, v bigint) returns void as $$
  insert into numbers values (k, v) on conflict (key) do update set value = excluded.value
$$ language sql;

create function resource_register(keys text[], args text[]) returns text[] as $$
declare
  a record; v bigint; shown bigint;
begin
  select * into a from admit(keys, args);
  v := number_of(keys[1], args[8]);
  shown := v;
  if args[1] = 'write' then
    shown := args[9]::bigint;
    if a.accepted then
      perform put(keys[1], shown);
      v := shown;
    end if;
  end if;
  perform tell(args, a.accepted, a.highest, shown::text);
  return array[flag(a.accepted), v::text, a.highest];
end $$ language plpgsql;

create function resource_check(keys text[], args text[]) returns text[] as $$
declare
  a record;
begin
  select * into a from admit(keys, args);
  if not a.accepted then
    perform tell(args, a.accepted, a.highest, args[9]);
  end if;
  return array[flag(a.accepted), number_of(keys[1], args[8])::text, a.highest];
end $$ language plpgsql;

create function resource_take(keys text[], args text[]) returns text[] as $$
declare
  a record; v bigint; taken boolean;
begin
  select * into a from admit(keys, args);
  v := number_of(keys[1], args[8]);
  taken := a.accepted and v >= args[9]::bigint;
  if taken then
    v := v - args[9]::bigint;
    perform put(keys[1], v);
  end if;
  if taken or not a.accepted then
    perform tell(args, a.accepted, a.highest, v::text);
  end if;
  return array[flag(a.accepted), v::text, a.highest, flag(taken)];
end $$ language plpgsql;

create function resource_list(keys text[], args text[]) returns text[] as $$
declare
  a record; all_of text[]; answer text[]; shown text;
begin
  select * into a from admit(keys, args);
  all_of := coalesce((select elements from lists where key = keys[1]), array[]::text[]);
  shown := cardinality(all_of)::text;
  answer := array[flag(a.accepted), shown, a.highest];
  if args[1] = 'write' then
    shown := args[9];
    if a.accepted then
      insert into lists values (keys[1], args[10:])
        on conflict (key) do update set elements = excluded.elements;
      answer[2] := cardinality(args[10:])::text;
    end if;
  elsif a.accepted then
    answer := answer || all_of;
  end if;
  perform tell(args, a.accepted, a.highest, shown);
  return answer;
end $$ language plpgsql;
