//! Articles: what a pipeline downstream makes of posts.

use super::{Result, Service, ServiceError};
use crate::model::{Article, ArticleId, AuditedChange, NewArticle, PostId};

/// How many posts can be linked while an article is added.
const POSTS_MAX: usize = 100;

impl Service {
    pub async fn articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>> {
        Ok(self.store.list_articles(after, limit).await?)
    }

    /// An article with the posts that it was made of.
    pub async fn article(&self, id: ArticleId) -> Result<(Article, Vec<PostId>)> {
        let article = self.store.article(id).await?.ok_or_else(|| ServiceError::not_found("article", id))?;
        Ok((article, self.store.posts_of_article(id).await?))
    }

    pub async fn add_article(&self, new: NewArticle, posts: &[PostId]) -> Result<(Article, Vec<PostId>)> {
        if posts.len() > POSTS_MAX {
            return Err(ServiceError::invalid("post_ids", format!("at most {POSTS_MAX} posts at once")));
        }
        self.check_podcast(new.podcast_id).await?;
        for id in posts {
            if self.store.post(*id).await?.is_none() {
                return Err(ServiceError::invalid("post_ids", format!("there is no post {id}")));
            }
        }
        let change = AuditedChange::new("article.add", "article", None).named(&new.title).after("posts", posts.len());
        let id = self.audited(change, async |store| store.add_article(new).await).await?;
        for post in posts {
            self.store.link_post(id, *post).await?;
        }
        self.article(id).await
    }

    pub async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()> {
        if self.store.article(article).await?.is_none() {
            return Err(ServiceError::not_found("article", article));
        }
        self.post(post).await?;
        let change = of_article("article.link", article).after("post_id", post.0);
        self.audited(change, async |store| store.link_post(article, post).await).await
    }

    pub async fn mark_processed(&self, id: ArticleId) -> Result<()> {
        let change = of_article("article.processed", id).after("processed", true);
        match self.audited(change, async |store| store.mark_processed(id).await).await? {
            true => Ok(()),
            false => Err(ServiceError::not_found("article", id)),
        }
    }
}

fn of_article(action: &'static str, id: ArticleId) -> AuditedChange {
    AuditedChange::new(action, "article", Some(id.to_string()))
}
