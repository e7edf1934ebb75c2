-- Readers remember the highest number of a post that they have seen. A store that is restored from a backup must not
-- issue such a number again, so it has to notice that it is one: it knows where it was used last (identity), and a backup
-- says that it is one (backed_up_at).
ALTER TABLE daemon ADD COLUMN identity text;
ALTER TABLE daemon ADD COLUMN backed_up_at timestamptz;
