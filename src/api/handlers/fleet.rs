//! The endpoint for the nodes of a fleet.

use actix_web::http::Method;
use actix_web::{HttpResponse, web};

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::problem::Problem;
use super::super::views::{FleetReport, FleetTotals, NodeView};
use super::HandlerResult;
use crate::actors::NodeReport;
use crate::model::{FleetRecord, NodeRecord, SHARDS};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/fleet", "Get the nodes that share the database", fleet)
            .answers::<FleetReport>(200, "Nodes with their shards"),
    ]
}

async fn fleet(api: web::Data<Api>) -> HandlerResult {
    let fleet = api.pipeline().fleet();
    let report = match fleet.record().await {
        Some(record) => {
            let record = record.map_err(|error| Problem::unavailable(error.to_string()))?;
            let hand_overs = fleet.hand_overs().into_iter().map(Into::into).collect();
            FleetReport { hand_overs, ..view(&record, fleet.name(), fleet.settings().unwrap_or_default()) }
        }
        None => alone(),
    };
    Ok(HttpResponse::Ok().json(report))
}

fn alone() -> FleetReport {
    FleetReport {
        is_shared: false,
        node: None,
        lease_seconds: 0.0,
        shards: usize::from(SHARDS),
        free_shards: 0,
        messages_waiting: 0,
        quiet_seconds: 0.0,
        nodes: Vec::new(),
        totals: FleetTotals::default(),
        owners: Vec::new(),
        hand_overs: Vec::new(),
    }
}

fn view(record: &FleetRecord, node: Option<&str>, settings: &str) -> FleetReport {
    let reports: Vec<NodeReport> = record.nodes.iter().map(|node| NodeReport::read(&node.report)).collect();
    let live =
        || record.nodes.iter().zip(&reports).filter(|(node, _)| node.ended_at.is_none()).map(|(_, report)| report);
    let place = |id| record.nodes.iter().position(|node| Some(node.id) == id);
    FleetReport {
        is_shared: true,
        node: node.map(str::to_owned),
        lease_seconds: record.lease.as_secs_f64(),
        shards: record.owners.len(),
        free_shards: record.free_shards,
        messages_waiting: record.messages_waiting,
        quiet_seconds: record.quiet_for.as_secs_f64(),
        nodes: record.nodes.iter().zip(&reports).map(|(node, report)| of_node(node, report, settings)).collect(),
        totals: FleetTotals {
            nodes: live().count(),
            sources: live().map(|report| report.sources).sum(),
            read: live().map(|report| report.read).sum(),
            unchanged: live().map(|report| report.unchanged).sum(),
            failed: live().map(|report| report.failed).sum(),
            new_posts: live().map(|report| report.new_posts).sum(),
            polls_per_second: live().map(|report| report.polls_per_second).sum(),
        },
        owners: record.owners.iter().map(|owner| place(*owner)).collect(),
        hand_overs: Vec::new(),
    }
}

fn of_node(node: &NodeRecord, report: &NodeReport, settings: &str) -> NodeView {
    let state = match node.ended_at {
        Some(_) if node.has_left => "left",
        Some(_) if node.ended_by.as_ref() == Some(&node.name) => "replaced",
        Some(_) => "expired",
        None if node.lease_left <= 0.0 => "late",
        None => "live",
    };
    NodeView {
        name: node.name.clone(),
        state: state.to_owned(),
        joined_at: node.joined_at,
        ended_at: node.ended_at,
        ended_by: node.ended_by.clone().filter(|_| !node.has_left),
        version: node.version.clone(),
        has_same_settings: node.settings == settings,
        lease_left_seconds: node.lease_left.max(0.0),
        shards: if node.ended_at.is_none() { node.shards } else { 0 },
        shards_draining: report.shards_draining,
        sources: report.sources,
        waiting: report.waiting,
        under_way: report.under_way,
        polls_per_second: report.polls_per_second,
        lag_seconds: report.lag_seconds,
        clock_offset_seconds: report.clock_offset_seconds,
        is_paused: report.is_paused,
        fenced: report.fenced,
    }
}
