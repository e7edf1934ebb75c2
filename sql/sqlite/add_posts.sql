INSERT INTO posts ({new_post_columns}, is_page)
VALUES ({$1.. new_post_columns}, $10)
