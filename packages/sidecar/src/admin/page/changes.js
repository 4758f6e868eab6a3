import { arrange, byId, element, MoreButton, setText } from './dom.js';
import { HEALTH_WORDS, hasAll, moment, plural, time } from './format.js';

const STEP = 8;
/** As many as the sidecar keeps. */
const CHANGES_MAX = 200;

const SIGNS = { came: '+', went: '−', changed: '~' };
const SOURCES = {
	live: 'live',
	'last-known-good': 'last known good',
	static: 'static',
};

/** By id, the oldest first. */
const changes = new Map();
const nodes = new Map();
let filter = [];

const more = new MoreButton(byId('changes-more'), { step: STEP, noun: 'changes', changed: showChanges });

export function clearChanges() {
	changes.clear();
	nodes.clear();
	showChanges();
}

/** Adds what is new; a change that was added to comes again. */
export function addChanges(recent) {
	for (const change of recent) {
		changes.delete(change.id);
		changes.set(change.id, change);
		nodes.delete(change.id);
	}
	for (const id of changes.keys()) {
		if (changes.size <= CHANGES_MAX) break;
		changes.delete(id);
		nodes.delete(id);
	}
	showChanges();
}

/** Shows the changes that have each of these words, in lower case, in a name, an address or a status. */
export function filterChanges(words) {
	filter = words;
	more.reset();
	showChanges();
}

function showChanges() {
	const found = [...changes.values()].reverse().filter(matches);
	setText(byId('changes-count'), changes.size === 0 ? '' : `the last ${changes.size}`);
	const empty = byId('changes-empty');
	empty.hidden = found.length > 0;
	setText(empty, changes.size === 0 ? 'Nothing has changed yet.' : 'No change matches the filter.');
	arrange(byId('changes'), more.take(found).map(nodeOf));
}

function matches(change) {
	if (change.kind === 'source') return hasAll(change.services, filter);
	const found = change.instances.flatMap(({ instance, address, status, fields }) => {
		return [instance, address, status, ...fields.flatMap(({ from, to }) => [from, to])];
	});
	return hasAll([change.service, ...found], filter);
}

function nodeOf(change) {
	let node = nodes.get(change.id);
	if (node === undefined) {
		node = change.kind === 'source' ? sourceNode(change) : instancesNode(change);
		nodes.set(change.id, node);
	}
	return node;
}

function head(change, name, note) {
	const at = element(
		'time',
		{ datetime: new Date(change.at).toISOString(), title: moment(change.at) },
		time(change.at),
	);
	const parts = [at, ' ', element('span', { class: 'name' }, name), ' '];
	return element('div', { class: 'change-head' }, ...parts, element('span', { class: 'quiet' }, note));
}

function sourceNode(change) {
	const { count, services, source, sourceBefore } = change;
	const rest = count - services.length;
	const names = rest > 0 ? `${services.join(', ')} and ${plural(rest, 'more', 'more')}` : services.join(', ');
	const word = source === 'last-known-good' ? 'warn' : 'good';
	const text = `source: ${SOURCES[sourceBefore]} → ${SOURCES[source]}`;
	const line = element('li', { class: word }, element('span', { class: 'sign', 'aria-hidden': 'true' }, '~'), text);
	return element('li', {}, head(change, names, plural(count, 'service')), element('ul', { class: 'diff' }, line));
}

function instancesNode(change) {
	const { service, revision, counts, instances } = change;
	const all = counts.came + counts.went + counts.changed;
	const lines = instances.map(instanceLine);
	if (all > lines.length) lines.push(element('li', { class: 'quiet' }, `and ${all - lines.length} more`));
	return element('li', {}, head(change, service, `revision ${revision}`), element('ul', { class: 'diff' }, ...lines));
}

function instanceLine({ what, instance, address, status, fields }) {
	const word = what === 'went' ? 'quiet' : (HEALTH_WORDS[status] ?? '');
	const where = instance === address ? instance : `${instance} ${address}`;
	const text =
		what === 'changed'
			? `${instance} ${fields.map(fieldText).join(', ')}`
			: `${where}${what === 'came' ? ` ${status}` : ''}`;
	return element(
		'li',
		{ class: word },
		element('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[what]),
		element('span', { class: 'hidden' }, `${what}: `),
		text,
	);
}

function fieldText({ name, from, to }) {
	return from === '' && name === 'meta' ? `meta ${to}` : `${name} ${from || 'none'} → ${to || 'none'}`;
}
