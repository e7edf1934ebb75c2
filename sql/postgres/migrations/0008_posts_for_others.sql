-- What programs downstream may rely on: a view whose columns keep their names and meanings (docs/downstream.md), and
-- numbers of posts that become visible in their order, so that the highest number read is all a reader has to remember.

-- URLs of sources are left out, since they may hold credentials.
CREATE VIEW posts_v1 AS
SELECT
    posts.id,
    posts.source_id,
    sources.type AS source_type,
    sources.title AS source_title,
    posts.title,
    posts.body,
    posts.url,
    posts.author,
    posts.published_at,
    posts.created_at,
    encode(posts.content_hash, 'hex') AS content_hash
FROM posts
JOIN sources ON sources.id = posts.source_id;

-- Numbers are given before their rows can be seen. Without turns, a transaction that began later could be seen earlier,
-- and a reader that went on from its numbers would never see the others. The turn ends with the transaction.
CREATE FUNCTION take_turns_with_posts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7377267653211902);
    RETURN NULL;
END
$$;

CREATE TRIGGER posts_in_order BEFORE INSERT ON posts FOR EACH STATEMENT EXECUTE FUNCTION take_turns_with_posts();
