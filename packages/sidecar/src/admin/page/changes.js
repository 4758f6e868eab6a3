import { arrange, byId, element, MoreButton, setText } from './dom.js';
import { moment, plural, time } from './format.js';

const STEP = 15;
/** As many as the sidecar keeps. */
const CHANGES_MAX = 200;

/** Of what was there when a service was asked for first, so many instances are named: nothing has changed. */
const FIRST_LINES_MAX = 3;

const SIGNS = { came: ['+', 'good'], went: ['−', 'bad'], changed: ['~', 'warn'] };
const SOURCES = {
	live: 'live',
	'last-known-good': 'last known good',
	static: 'static',
};

/** By id, the oldest first. */
const changes = new Map();
const nodes = new Map();
let filter = '';

const more = new MoreButton(byId('changes-more'), { step: STEP, noun: 'changes', changed: showChanges });

export function clearChanges() {
	changes.clear();
	nodes.clear();
	showChanges();
}

/** Adds what is new; a change that was added to comes again. */
export function addChanges(told) {
	for (const change of told) {
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

/** Shows the changes of services with this in their name; text in lower case. */
export function filterChanges(text) {
	filter = text;
	more.reset();
	showChanges();
}

function showChanges() {
	const found = [...changes.values()].reverse().filter(matches);
	setText(byId('changes-count'), changes.size === 0 ? '' : `the last ${changes.size}`);
	const empty = byId('changes-empty');
	empty.hidden = found.length > 0;
	setText(empty, changes.size === 0 ? 'Nothing has changed yet.' : 'No change of such a service.');
	arrange(byId('changes'), more.take(found).map(nodeOf));
}

function matches(change) {
	if (filter === '') return true;
	const names = change.kind === 'source' ? change.services : [change.service];
	return names.some((name) => name.toLowerCase().includes(filter));
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
	const text = `source: ${SOURCES[sourceBefore] ?? 'none'} → ${SOURCES[source]}`;
	const line = element('li', { class: word }, element('span', { class: 'sign', 'aria-hidden': 'true' }, '~'), text);
	return element('li', {}, head(change, names, plural(count, 'service')), element('ul', { class: 'diff' }, line));
}

function instancesNode(change) {
	const { service, revision, counts, instances, sourceBefore } = change;
	const all = counts.came + counts.went + counts.changed;
	const lines = instances.slice(0, sourceBefore === null ? FIRST_LINES_MAX : undefined).map(instanceLine);
	if (all > lines.length) lines.push(element('li', { class: 'quiet' }, `and ${all - lines.length} more`));
	if (all === 0) lines.push(element('li', { class: 'quiet' }, 'no instances'));
	const first = sourceBefore === null ? 'first answer, ' : '';
	return element(
		'li',
		{},
		head(change, service, `${first}revision ${revision}`),
		element('ul', { class: 'diff' }, ...lines),
	);
}

function instanceLine({ what, instance, address, status, fields }) {
	const [sign, word] = SIGNS[what];
	const where = instance === address ? instance : `${instance} ${address}`;
	const text =
		what === 'changed'
			? `${instance} ${fields.map(fieldText).join(', ')}`
			: `${where}${what === 'came' ? ` ${status}` : ''}`;
	return element(
		'li',
		{ class: word },
		element('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
		element('span', { class: 'hidden' }, `${what}: `),
		text,
	);
}

function fieldText({ name, from, to }) {
	return from === '' && name === 'meta' ? `meta ${to}` : `${name} ${from || 'none'} → ${to || 'none'}`;
}
