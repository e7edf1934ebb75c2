-- Written and emptied while the store seems to take no writes, to find out whether it does again.
CREATE TABLE store_probe (
    id    bigint PRIMARY KEY,
    body  bytea NOT NULL
);
