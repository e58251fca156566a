//! Layout of the graph by simulated forces (Fruchterman and Reingold 1991): links act as springs, and nodes repel each
//! other. Linked nodes are therefore near each other. The layout is deterministic.

use serde::Serialize;

/// Width and height of the drawing.
pub const WIDTH: f64 = 1_000.0;
/// See [`WIDTH`].
pub const HEIGHT: f64 = 680.0;
/// Margin of the drawing, for the labels of nodes.
const MARGIN: f64 = 46.0;
/// Number of steps of the simulation; the size of the steps decreases.
const STEPS: usize = 400;
/// Angle between successive nodes of the initial spiral, which fills the plane evenly.
const GOLDEN_ANGLE: f64 = 2.399_963;
/// Strength of the attraction to the centre, which keeps unlinked parts near.
const GRAVITY: f64 = 0.06;
/// Minimum distance between two nodes.
const APART: f64 = 26.0;

/// A position in the drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Distance from the left edge.
    pub x: f64,
    /// Distance from the top edge.
    pub y: f64,
}

/// Returns positions for `count` nodes, given the links between them.
pub fn place(count: usize, links: &[(usize, usize)]) -> Vec<Point> {
    let mut points: Vec<Point> = (0..count).map(|at| spiral(at, count)).collect();
    // The links of a well connected node attract less; otherwise this node would gather all others around it.
    let mut degrees = vec![0_usize; count];
    for (one, other) in links {
        degrees[*one] += 1;
        degrees[*other] += 1;
    }
    let fewest = |(one, other): &(usize, usize)| degrees[*one].min(degrees[*other]);
    let weights: Vec<f64> = links.iter().map(|link| 1.4 / fewest(link) as f64).collect();
    let ideal = (WIDTH * HEIGHT / count.max(1) as f64).sqrt() * 0.75;
    for step in 0..STEPS {
        let reach = WIDTH / 8.0 * (1.0 - step as f64 / STEPS as f64).powi(2) + 0.5;
        let forces = forces(&points, links, &weights, ideal);
        for (point, force) in points.iter_mut().zip(forces) {
            let strength = force.x.hypot(force.y).max(1e-9);
            let moved = strength.min(reach) / strength;
            point.x += force.x * moved;
            point.y += force.y * moved;
        }
    }
    fit(&mut points);
    (0..60).for_each(|_| part(&mut points));
    for point in &mut points {
        point.x = point.x.clamp(MARGIN, WIDTH - MARGIN).round();
        point.y = point.y.clamp(MARGIN, HEIGHT - MARGIN).round();
    }
    points
}

fn spiral(at: usize, count: usize) -> Point {
    let (angle, part) = (at as f64 * GOLDEN_ANGLE, ((at as f64 + 0.5) / count as f64).sqrt());
    Point {
        x: WIDTH / 2.0 + angle.cos() * part * WIDTH / 2.5,
        y: HEIGHT / 2.0 + angle.sin() * part * HEIGHT / 2.5,
    }
}

fn forces(points: &[Point], links: &[(usize, usize)], weights: &[f64], ideal: f64) -> Vec<Point> {
    let mut forces: Vec<Point> = points
        .iter()
        .map(|point| Point {
            x: (WIDTH / 2.0 - point.x) * GRAVITY,
            y: (HEIGHT / 2.0 - point.y) * GRAVITY * WIDTH / HEIGHT,
        })
        .collect();
    let mut push = |one: usize, other: usize, strength: &dyn Fn(f64) -> f64| {
        let (dx, dy) = (points[one].x - points[other].x, points[one].y - points[other].y);
        let distance = dx.hypot(dy).max(0.1);
        let strength = strength(distance) / distance;
        forces[one].x += dx * strength;
        forces[one].y += dy * strength;
        forces[other].x -= dx * strength;
        forces[other].y -= dy * strength;
    };
    for one in 0..points.len() {
        for other in 0..one {
            push(one, other, &|distance| ideal * ideal / distance);
        }
    }
    for ((one, other), weight) in links.iter().zip(weights) {
        push(*one, *other, &|distance| -weight * distance * distance / ideal);
    }
    forces
}

/// Scales the positions to the size of the drawing.
fn fit(points: &mut [Point]) {
    type Coordinate = fn(&mut Point) -> &mut f64;
    let both: [(Coordinate, f64); 2] =
        [(|point| &mut point.x, WIDTH), (|point| &mut point.y, HEIGHT)];
    for (coordinate, room) in both {
        let all = points.iter_mut().map(|point| *coordinate(point));
        let (low, high) =
            all.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        let scale = if high - low > 1.0 { (room - 2.0 * MARGIN) / (high - low) } else { 1.0 };
        for point in points.iter_mut() {
            let at = coordinate(point);
            *at = room / 2.0 + (*at - (low + high) / 2.0) * scale;
        }
    }
}

/// Moves overlapping nodes apart.
fn part(points: &mut [Point]) {
    for one in 0..points.len() {
        for other in 0..one {
            let (dx, dy) = (points[one].x - points[other].x, points[one].y - points[other].y);
            let distance = dx.hypot(dy);
            if distance >= APART {
                continue;
            }
            let (dx, dy) = if distance < 0.1 { (1.0, 0.0) } else { (dx / distance, dy / distance) };
            let by = (APART - distance) / 2.0;
            points[one].x += dx * by;
            points[one].y += dy * by;
            points[other].x -= dx * by;
            points[other].y -= dy * by;
        }
    }
}

/// Position of a node's label, and whether there is room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naming {
    /// Whether the label is to the left of the node.
    pub is_left: bool,
    /// Whether the label overlaps nothing.
    pub has_room: bool,
}

/// Half the height of a label, and the width of one of its characters.
const NAME_HALF: f64 = 9.0;
const CHAR_WIDTH: f64 = 6.6;
/// Distance from the centre of a node to its label, and half the width kept free for a node.
const NAME_GAP: f64 = 11.0;
const NODE_HALF: f64 = 9.0;

/// Places the labels of nodes. `chars` are the lengths of the labels in characters. If two labels overlap, the earlier
/// node takes precedence.
pub fn name(points: &[Point], chars: &[usize]) -> Vec<Naming> {
    // Left edge, right edge and vertical centre of each occupied area.
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    let namings = points.iter().zip(chars).enumerate().map(|(own, (point, chars))| {
        let width = *chars as f64 * CHAR_WIDTH;
        let spans = [
            (false, point.x + NAME_GAP, point.x + NAME_GAP + width),
            (true, point.x - NAME_GAP - width, point.x - NAME_GAP),
        ];
        let is_free = |left: f64, right: f64| {
            let over_node = points.iter().enumerate().any(|(at, node)| {
                at != own
                    && node.x + NODE_HALF > left
                    && node.x - NODE_HALF < right
                    && (node.y - point.y).abs() < NODE_HALF + NAME_HALF
            });
            let over_name = taken.iter().any(|(other_left, other_right, y)| {
                *other_right > left && *other_left < right && (y - point.y).abs() < 2.0 * NAME_HALF
            });
            left >= 0.0 && right <= WIDTH && !over_node && !over_name
        };
        let free = spans.iter().find(|(_, left, right)| is_free(*left, *right));
        if let Some((is_left, left, right)) = free.copied() {
            taken.push((left, right, point.y));
            return Naming { is_left, has_room: true };
        }
        Naming { is_left: point.x > WIDTH / 2.0, has_room: false }
    });
    namings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_nodes_lie_nearer_than_others_and_all_within_the_drawing() {
        // Two groups of ten nodes, each group fully linked.
        let links: Vec<(usize, usize)> = (0..20)
            .flat_map(|one| (0..one).map(move |other| (one, other)))
            .filter(|(one, other)| one / 10 == other / 10)
            .collect();
        let points = place(20, &links);
        let mean = |same: bool| {
            let pairs = (0..20).flat_map(|one| (0..one).map(move |other| (one, other)));
            let pairs = pairs.filter(|(one, other)| (one / 10 == other / 10) == same);
            let apart = |(one, other): (usize, usize)| {
                (points[one].x - points[other].x).hypot(points[one].y - points[other].y)
            };
            let all: Vec<f64> = pairs.map(apart).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        assert!(mean(true) * 1.5 < mean(false), "{} {}", mean(true), mean(false));
        let is_within =
            |point: &Point| (0.0..=WIDTH).contains(&point.x) && (0.0..=HEIGHT).contains(&point.y);
        assert!(points.iter().all(is_within), "{points:?}");
        assert_eq!(points, place(20, &links));
    }

    #[test]
    fn a_name_stands_where_nothing_is_in_its_way() {
        let at = |x: f64, y: f64| Point { x, y };
        let naming = |is_left, has_room| Naming { is_left, has_room };
        // The label of the second node has no room on either side.
        let points = [at(500.0, 300.0), at(540.0, 300.0), at(980.0, 300.0), at(700.0, 320.0)];
        assert_eq!(
            name(&points, &[10, 100, 5, 10]),
            [naming(true, true), naming(true, false), naming(true, true), naming(false, true)]
        );
    }

    #[test]
    fn one_node_and_none_are_placed() {
        assert_eq!(place(0, &[]), []);
        assert_eq!(place(1, &[]), [Point { x: WIDTH / 2.0, y: HEIGHT / 2.0 }]);
    }
}
