INSERT INTO posts ({new_post_columns}, is_page)
VALUES ({$1.. new_post_columns}, (SELECT type = 'website' FROM sources WHERE id = $1))
