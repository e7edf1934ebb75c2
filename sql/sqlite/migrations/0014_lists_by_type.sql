-- Lists of one type of source. Feeds are nearly all sources, so a list of them is as fast without an index; the sources of
-- all other types are in this one.

DROP INDEX sources_of_pages;
CREATE INDEX sources_by_type ON sources (type, id) WHERE type <> 'rss';
