-- Pages name their author in `<meta>`, which is the author of a post, and often somebody else in the line above the text
-- or in linked data, which has its own place from now on. `posts_v1` stays as it is.
ALTER TABLE posts ADD COLUMN byline text;
