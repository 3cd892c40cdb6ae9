-- oldest client: 9
--
-- The palace says "uncertain" where what it found may or may not answer, and an agent may file a fact without a note before it.

alter table consultations drop constraint consultations_verdict_check;
alter table consultations add constraint consultations_verdict_check
  check (verdict in ('grounded', 'uncertain', 'miss', 'failed', 'free'));
alter table decisions alter column note_id drop not null;
