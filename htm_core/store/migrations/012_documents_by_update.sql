-- LangGraph's store lists what was put last first, and reads no more of a large collection for it than a page.
-- oldest client: 9

create index documents_by_update on documents (collection, updated_at desc, created_at desc, place, uid);
