import { arrange, byId, element, MoreButton } from './dom.js';
import { HEALTH_WORDS, plural } from './format.js';

const STEP = 10;
const STATE_WORDS = {
	fresh: ['live', 'good'],
	stale: ['last known', 'warn'],
	held: ['held back', 'warn'],
	cold: ['no answer', 'bad'],
};

/** Shows a short list whole: it changes rarely, and no row of it takes the focus. */
function listOf(id, noun, rowOf) {
	let entries = [];
	const show = () => {
		byId(id).hidden = entries.length === 0;
		arrange(byId(`${id}-list`), more.take(entries).map(rowOf));
	};
	const more = new MoreButton(byId(`${id}-more`), { step: STEP, noun, changed: show });
	return (list) => {
		entries = list;
		show();
	};
}

function item(name, note, [status, word]) {
	const line = [element('span', { class: 'name' }, name), ' ', element('span', { class: word }, status)];
	return element('li', {}, element('div', { class: 'change-head' }, ...line), element('div', { class: 'quiet' }, note));
}

export const showRegistrations = listOf('registrations', 'registrations', (registration) => {
	const { service, instance, state, error, phase, holders, status, note, app } = registration;
	const whose = app === undefined ? '' : `of ${app}`;
	const notes = [instance, whose, phase === 'held' ? plural(holders, 'holder') : phase, note, error].filter(Boolean);
	// What the registry does not know is not passing, whatever its app reports.
	const shown = state === 'registered' ? [status, HEALTH_WORDS[status] ?? ''] : [`${state}, ${status}`, 'warn'];
	return item(service, notes.join(', '), shown);
});

export const showKeys = listOf('keys', 'keys', ({ key, prefix, datacenter, state, entries, readers, error }) => {
	const found = prefix ? plural(entries, 'key') : entries > 0 ? 'found' : 'not found';
	const notes = [found, plural(readers, 'reader'), datacenter, error].filter(Boolean);
	return item(prefix ? `${key}…` : key, notes.join(', '), STATE_WORDS[state] ?? [state, '']);
});
