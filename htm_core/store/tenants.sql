-- name: settle
with tenant as (insert into tenants (tenant) values (this_tenant()) on conflict do nothing),
     words as (
  insert into lexicon (tenant, code, config)
  values (this_tenant(), left(encode(decode(md5(this_tenant()), 'hex'), 'base64'), 4) || ':', %(language)s::regconfig)
  on conflict do nothing),
     robot as (
  insert into robots (tenant, name) values (this_tenant(), %(robot)s)
  on conflict (tenant, name) do update set active_at = now())
insert into models (tenant, name, active)
select this_tenant(), %(model)s, true
where not exists (select 1 from models m where m.tenant = this_tenant() and m.active)
on conflict do nothing

-- name: standing
select m.name as model, s.dimension, l.documents from lexicon l
left join models m on m.tenant = l.tenant and m.active left join spaces s on s.id = m.space
where l.tenant = this_tenant()

-- name: active_model
select name from models where tenant = this_tenant() and active
