-- What is null stays, so that two people who change different things lose neither.
UPDATE podcasts SET user_id = coalesce($2, user_id), title = coalesce($3, title) WHERE id = $1
