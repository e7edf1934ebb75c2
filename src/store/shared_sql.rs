//! The statements that are the same on both engines, each named after its file in `sql/shared/`.

use super::statement::Statement;

pub(super) static ADD_ARTICLE: Statement = Statement::new(include_str!("../../sql/shared/add_article.sql"));
pub(super) static ADD_AUDIT_RECORD: Statement = Statement::new(include_str!("../../sql/shared/add_audit_record.sql"));
pub(super) static ADD_PODCAST: Statement = Statement::new(include_str!("../../sql/shared/add_podcast.sql"));
pub(super) static ADD_USER: Statement = Statement::new(include_str!("../../sql/shared/add_user.sql"));
pub(super) static ADD_WEBHOOK: Statement = Statement::new(include_str!("../../sql/shared/add_webhook.sql"));
pub(super) static API_KEY: Statement = Statement::new(include_str!("../../sql/shared/api_key.sql"));
pub(super) static ARTICLE: Statement = Statement::new(include_str!("../../sql/shared/article.sql"));
pub(super) static BEGIN_FULL_TEXT: Statement = Statement::new(include_str!("../../sql/shared/begin_full_text.sql"));
pub(super) static CHANGE_PODCAST: Statement = Statement::new(include_str!("../../sql/shared/change_podcast.sql"));
pub(super) static CHANGE_WEBHOOK: Statement = Statement::new(include_str!("../../sql/shared/change_webhook.sql"));
pub(super) static CHECK_POSTS: Statement = Statement::new(include_str!("../../sql/shared/check_posts.sql"));
pub(super) static CLEAN_AUDIT: Statement = Statement::new(include_str!("../../sql/shared/clean_audit.sql"));
pub(super) static CLEAN_ROBOTS: Statement = Statement::new(include_str!("../../sql/shared/clean_robots.sql"));
pub(super) static CORRECT_FULL_TEXTS: Statement =
    Statement::new(include_str!("../../sql/shared/correct_full_texts.sql"));
pub(super) static CORRECT_HOST: Statement = Statement::new(include_str!("../../sql/shared/correct_host.sql"));
pub(super) static COUNT_FAILURES: Statement = Statement::new(include_str!("../../sql/shared/count_failures.sql"));
pub(super) static COUNT_POSTS: Statement = Statement::new(include_str!("../../sql/shared/count_posts.sql"));
pub(super) static COUNT_POSTS_OF_SOURCE: Statement =
    Statement::new(include_str!("../../sql/shared/count_posts_of_source.sql"));
pub(super) static COUNT_POSTS_SINCE: Statement = Statement::new(include_str!("../../sql/shared/count_posts_since.sql"));
pub(super) static COUNT_SOURCES: Statement = Statement::new(include_str!("../../sql/shared/count_sources.sql"));
pub(super) static DEFER_FULL_TEXTS: Statement = Statement::new(include_str!("../../sql/shared/defer_full_texts.sql"));
pub(super) static DROP_FULL_TEXT: Statement = Statement::new(include_str!("../../sql/shared/drop_full_text.sql"));
pub(super) static HOST: Statement = Statement::new(include_str!("../../sql/shared/host.sql"));
pub(super) static HOSTS_ASKED_AFTER: Statement = Statement::new(include_str!("../../sql/shared/hosts_asked_after.sql"));
pub(super) static LAST_CHANGE_NUMBER: Statement =
    Statement::new(include_str!("../../sql/shared/last_change_number.sql"));
pub(super) static LINK_POST: Statement = Statement::new(include_str!("../../sql/shared/link_post.sql"));
pub(super) static LIST_ARTICLES: Statement = Statement::new(include_str!("../../sql/shared/list_articles.sql"));
pub(super) static LIST_AUDIT: Statement = Statement::new(include_str!("../../sql/shared/list_audit.sql"));
pub(super) static LIST_AUDIT_OF_CALLER: Statement =
    Statement::new(include_str!("../../sql/shared/list_audit_of_caller.sql"));
pub(super) static LIST_AUDIT_OF_TARGET: Statement =
    Statement::new(include_str!("../../sql/shared/list_audit_of_target.sql"));
pub(super) static LIST_CHANGES: Statement = Statement::new(include_str!("../../sql/shared/list_changes.sql"));
pub(super) static LIST_CHANGES_OF_SOURCE: Statement =
    Statement::new(include_str!("../../sql/shared/list_changes_of_source.sql"));
pub(super) static LIST_HOSTS: Statement = Statement::new(include_str!("../../sql/shared/list_hosts.sql"));
pub(super) static LIST_LABELS: Statement = Statement::new(include_str!("../../sql/shared/list_labels.sql"));
pub(super) static LIST_PODCASTS: Statement = Statement::new(include_str!("../../sql/shared/list_podcasts.sql"));
pub(super) static LIST_PODCASTS_OF_USER: Statement =
    Statement::new(include_str!("../../sql/shared/list_podcasts_of_user.sql"));
pub(super) static LIST_POSTS: Statement = Statement::new(include_str!("../../sql/shared/list_posts.sql"));
pub(super) static LIST_POSTS_BEFORE: Statement = Statement::new(include_str!("../../sql/shared/list_posts_before.sql"));
pub(super) static LIST_POSTS_BETWEEN: Statement =
    Statement::new(include_str!("../../sql/shared/list_posts_between.sql"));
pub(super) static LIST_POSTS_OF_SOURCE: Statement =
    Statement::new(include_str!("../../sql/shared/list_posts_of_source.sql"));
pub(super) static LIST_POSTS_OF_SOURCE_BEFORE: Statement =
    Statement::new(include_str!("../../sql/shared/list_posts_of_source_before.sql"));
pub(super) static LIST_SOURCES: Statement = Statement::new(include_str!("../../sql/shared/list_sources.sql"));
pub(super) static LIST_USERS: Statement = Statement::new(include_str!("../../sql/shared/list_users.sql"));
pub(super) static LIST_WEBHOOKS: Statement = Statement::new(include_str!("../../sql/shared/list_webhooks.sql"));
pub(super) static MARK_PROCESSED: Statement = Statement::new(include_str!("../../sql/shared/mark_processed.sql"));
pub(super) static MARK_RESTORED: Statement = Statement::new(include_str!("../../sql/shared/mark_restored.sql"));
pub(super) static MOVE_WEBHOOK_RETRIES: Statement =
    Statement::new(include_str!("../../sql/shared/move_webhook_retries.sql"));
pub(super) static NEXT_FULL_TEXT: Statement = Statement::new(include_str!("../../sql/shared/next_full_text.sql"));
pub(super) static NOTE_FULL_TEXT_ERROR: Statement =
    Statement::new(include_str!("../../sql/shared/note_full_text_error.sql"));
pub(super) static NOTE_TRUSTED_TIME: Statement = Statement::new(include_str!("../../sql/shared/note_trusted_time.sql"));
pub(super) static PAUSED_SINCE: Statement = Statement::new(include_str!("../../sql/shared/paused_since.sql"));
pub(super) static PAUSE_POLLING: Statement = Statement::new(include_str!("../../sql/shared/pause_polling.sql"));
pub(super) static PING: Statement = Statement::new(include_str!("../../sql/shared/ping.sql"));
pub(super) static PODCAST: Statement = Statement::new(include_str!("../../sql/shared/podcast.sql"));
pub(super) static POST: Statement = Statement::new(include_str!("../../sql/shared/post.sql"));
pub(super) static POSTS_OF_ARTICLE: Statement = Statement::new(include_str!("../../sql/shared/posts_of_article.sql"));
pub(super) static POSTS_OF_SETTLEMENT: Statement =
    Statement::new(include_str!("../../sql/shared/posts_of_settlement.sql"));
pub(super) static POST_REVISIONS: Statement = Statement::new(include_str!("../../sql/shared/post_revisions.sql"));
pub(super) static PUT_API_KEY: Statement = Statement::new(include_str!("../../sql/shared/put_api_key.sql"));
pub(super) static PUT_PROBE: Statement = Statement::new(include_str!("../../sql/shared/put_probe.sql"));
pub(super) static PUT_ROBOTS: Statement = Statement::new(include_str!("../../sql/shared/put_robots.sql"));
pub(super) static PUT_SOURCE_ACCESS: Statement = Statement::new(include_str!("../../sql/shared/put_source_access.sql"));
pub(super) static RECORD_DELIVERY: Statement = Statement::new(include_str!("../../sql/shared/record_delivery.sql"));
pub(super) static PUT_STORE_IDENTITY: Statement =
    Statement::new(include_str!("../../sql/shared/put_store_identity.sql"));
pub(super) static REMOVE_API_KEY: Statement = Statement::new(include_str!("../../sql/shared/remove_api_key.sql"));
pub(super) static REMOVE_LABELS: Statement = Statement::new(include_str!("../../sql/shared/remove_labels.sql"));
pub(super) static REMOVE_PODCAST: Statement = Statement::new(include_str!("../../sql/shared/remove_podcast.sql"));
pub(super) static REMOVE_PROBE: Statement = Statement::new(include_str!("../../sql/shared/remove_probe.sql"));
pub(super) static REMOVE_SOURCE: Statement = Statement::new(include_str!("../../sql/shared/remove_source.sql"));
pub(super) static REMOVE_SOURCE_VERSION: Statement =
    Statement::new(include_str!("../../sql/shared/remove_source_version.sql"));
pub(super) static REMOVE_SOURCE_ACCESS: Statement =
    Statement::new(include_str!("../../sql/shared/remove_source_access.sql"));
pub(super) static REMOVE_USER: Statement = Statement::new(include_str!("../../sql/shared/remove_user.sql"));
pub(super) static REMOVE_WEBHOOK: Statement = Statement::new(include_str!("../../sql/shared/remove_webhook.sql"));
pub(super) static RENAME_USER: Statement = Statement::new(include_str!("../../sql/shared/rename_user.sql"));
pub(super) static RENEW_API_KEY: Statement = Statement::new(include_str!("../../sql/shared/renew_api_key.sql"));
pub(super) static REQUEST_KEYED_POLLS: Statement =
    Statement::new(include_str!("../../sql/shared/request_keyed_polls.sql"));
pub(super) static RESEAL_API_KEYS: Statement = Statement::new(include_str!("../../sql/shared/reseal_api_keys.sql"));
pub(super) static RESEAL_SOURCE_ACCESS: Statement =
    Statement::new(include_str!("../../sql/shared/reseal_source_access.sql"));
pub(super) static RESEAL_WEBHOOKS: Statement = Statement::new(include_str!("../../sql/shared/reseal_webhooks.sql"));
pub(super) static RESUME_POLLING: Statement = Statement::new(include_str!("../../sql/shared/resume_polling.sql"));
pub(super) static ROBOTS: Statement = Statement::new(include_str!("../../sql/shared/robots.sql"));
pub(super) static SAVE_SOURCE: Statement = Statement::new(include_str!("../../sql/shared/save_source.sql"));
pub(super) static SEALED_API_KEYS: Statement = Statement::new(include_str!("../../sql/shared/sealed_api_keys.sql"));
pub(super) static SEALED_SOURCE_ACCESS: Statement =
    Statement::new(include_str!("../../sql/shared/sealed_source_access.sql"));
pub(super) static SEALED_WEBHOOKS: Statement = Statement::new(include_str!("../../sql/shared/sealed_webhooks.sql"));
pub(super) static SEARCH_POSTS: Statement = Statement::new(include_str!("../../sql/shared/search_posts.sql"));
pub(super) static SEARCH_POSTS_BEFORE: Statement =
    Statement::new(include_str!("../../sql/shared/search_posts_before.sql"));
pub(super) static SOURCE: Statement = Statement::new(include_str!("../../sql/shared/source.sql"));
pub(super) static SOURCES_FAILING: Statement = Statement::new(include_str!("../../sql/shared/sources_failing.sql"));
pub(super) static SOURCES_OF_HOST: Statement = Statement::new(include_str!("../../sql/shared/sources_of_host.sql"));
pub(super) static SOURCES_OF_TYPE: Statement = Statement::new(include_str!("../../sql/shared/sources_of_type.sql"));
pub(super) static SOURCES_RESTING: Statement = Statement::new(include_str!("../../sql/shared/sources_resting.sql"));
pub(super) static SOURCES_WITHOUT_HOST: Statement =
    Statement::new(include_str!("../../sql/shared/sources_without_host.sql"));
pub(super) static STORE_IDENTITY: Statement = Statement::new(include_str!("../../sql/shared/store_identity.sql"));
pub(super) static SOURCES_WITH_LABEL: Statement =
    Statement::new(include_str!("../../sql/shared/sources_with_label.sql"));
pub(super) static SOURCE_ACCESS: Statement = Statement::new(include_str!("../../sql/shared/source_access.sql"));
pub(super) static SWITCH_WEBHOOK: Statement = Statement::new(include_str!("../../sql/shared/switch_webhook.sql"));
pub(super) static TOUCH_SOURCE: Statement = Statement::new(include_str!("../../sql/shared/touch_source.sql"));
pub(super) static TRUSTED_TIME: Statement = Statement::new(include_str!("../../sql/shared/trusted_time.sql"));
pub(super) static USER: Statement = Statement::new(include_str!("../../sql/shared/user.sql"));
pub(super) static USER_NAMED: Statement = Statement::new(include_str!("../../sql/shared/user_named.sql"));
pub(super) static WEBHOOK: Statement = Statement::new(include_str!("../../sql/shared/webhook.sql"));
pub(super) static WEBHOOK_TARGET: Statement = Statement::new(include_str!("../../sql/shared/webhook_target.sql"));
pub(super) static CLEAN_POLLS: Statement = Statement::new(include_str!("../../sql/shared/clean_polls.sql"));
pub(super) static CLEAN_POLL_HOURS: Statement = Statement::new(include_str!("../../sql/shared/clean_poll_hours.sql"));
pub(super) static NOTE_PAGE: Statement = Statement::new(include_str!("../../sql/shared/note_page.sql"));
pub(super) static POLLS_OF_SOURCE: Statement = Statement::new(include_str!("../../sql/shared/polls_of_source.sql"));
pub(super) static POLL_HOURS: Statement = Statement::new(include_str!("../../sql/shared/poll_hours.sql"));
pub(super) static REMOVE_POLLS: Statement = Statement::new(include_str!("../../sql/shared/remove_polls.sql"));
pub(super) static CHECK_POLLS: Statement = Statement::new(include_str!("../../sql/shared/check_polls.sql"));
pub(super) static LIST_EVENTS: Statement = Statement::new(include_str!("../../sql/shared/list_events.sql"));
pub(super) static LIST_EVENTS_OF_SOURCE: Statement =
    Statement::new(include_str!("../../sql/shared/list_events_of_source.sql"));
pub(super) static EVENTS_BETWEEN: Statement = Statement::new(include_str!("../../sql/shared/events_between.sql"));
pub(super) static EVENTS_REMOVED_TO: Statement = Statement::new(include_str!("../../sql/shared/events_removed_to.sql"));
pub(super) static NOTE_EVENTS_REMOVED: Statement =
    Statement::new(include_str!("../../sql/shared/note_events_removed.sql"));
pub(super) static CLEAN_EVENTS: Statement = Statement::new(include_str!("../../sql/shared/clean_events.sql"));
pub(super) static END_SILENCES: Statement = Statement::new(include_str!("../../sql/shared/end_silences.sql"));
pub(super) static NOTE_SILENCE: Statement = Statement::new(include_str!("../../sql/shared/note_silence.sql"));
pub(super) static FIRST_EVENT_SINCE: Statement = Statement::new(include_str!("../../sql/shared/first_event_since.sql"));
pub(super) static ADD_SUBSCRIPTION: Statement = Statement::new(include_str!("../../sql/shared/add_subscription.sql"));
pub(super) static SUBSCRIPTION: Statement = Statement::new(include_str!("../../sql/shared/subscription.sql"));
pub(super) static SUBSCRIPTIONS_OF_SOURCE: Statement =
    Statement::new(include_str!("../../sql/shared/subscriptions_of_source.sql"));
pub(super) static SUBSCRIPTIONS_DUE: Statement = Statement::new(include_str!("../../sql/shared/subscriptions_due.sql"));
pub(super) static NEXT_SUBSCRIPTION_AT: Statement =
    Statement::new(include_str!("../../sql/shared/next_subscription_at.sql"));
pub(super) static SAVE_SUBSCRIPTION: Statement = Statement::new(include_str!("../../sql/shared/save_subscription.sql"));
pub(super) static REMOVE_SUBSCRIPTION: Statement =
    Statement::new(include_str!("../../sql/shared/remove_subscription.sql"));
pub(super) static COUNT_PUSHES: Statement = Statement::new(include_str!("../../sql/shared/count_pushes.sql"));
pub(super) static COUNT_FINDS: Statement = Statement::new(include_str!("../../sql/shared/count_finds.sql"));
pub(super) static COUNT_SUBSCRIPTIONS: Statement =
    Statement::new(include_str!("../../sql/shared/count_subscriptions.sql"));
pub(super) static SOURCES_TO_SUBSCRIBE: Statement =
    Statement::new(include_str!("../../sql/shared/sources_to_subscribe.sql"));
pub(super) static SUBSCRIPTIONS_TO_END: Statement =
    Statement::new(include_str!("../../sql/shared/subscriptions_to_end.sql"));
pub(super) static MOVE_SUBSCRIPTIONS: Statement =
    Statement::new(include_str!("../../sql/shared/move_subscriptions.sql"));
