-- An X account is found by its name once; posts are asked for by its number, which outlives the name.

ALTER TABLE sources ADD COLUMN account_id TEXT;
