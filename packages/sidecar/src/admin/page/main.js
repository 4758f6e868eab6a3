import { addChanges, clearChanges, filterChanges } from './changes.js';
import { showConnectionAges, showConnections } from './connections.js';
import { byId, setAttribute, setText } from './dom.js';
import { showEventAges, showEvents } from './events.js';
import { showOverview } from './overview.js';
import { filterServices, showServiceAges, takeServices } from './services.js';
import { follow } from './stream.js';

const LINK_TEXTS = {
	connecting: 'Connecting',
	live: 'Live',
	lost: 'Connection lost, trying again',
	paused: 'Paused while hidden',
};

const filter = byId('filter');
const problems = byId('problems');

/** Parts of which the next event tells everything. */
const whole = new Set();

const parts = {
	overview: showOverview,
	services: (services, isAll) => takeServices(services, isAll),
	connections: showConnections,
	events: showEvents,
	changes: (changes, isAll) => {
		if (isAll) clearChanges();
		addChanges(changes);
	},
};

follow({
	began: () => {
		for (const part of Object.keys(parts)) whole.add(part);
	},
	told: (part, data) => parts[part](data, whole.delete(part)),
	state: (state) => {
		setAttribute(byId('link'), 'data-state', state);
		setText(byId('link-text'), LINK_TEXTS[state]);
	},
});

function applyFilter() {
	const text = filter.value.trim().toLowerCase();
	filterServices(text, problems.checked);
	filterChanges(text);
}

filter.addEventListener('input', applyFilter);
problems.addEventListener('change', applyFilter);

document.addEventListener('keydown', (event) => {
	const isTyping = event.target instanceof HTMLInputElement && event.target.type !== 'checkbox';
	if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
		event.preventDefault();
		filter.focus();
		filter.select();
	}
	if (event.key === 'Escape' && event.target === filter && filter.value !== '') {
		filter.value = '';
		applyFilter();
	}
});

setInterval(() => {
	if (document.hidden) return;
	const nowMs = Date.now();
	showServiceAges(nowMs);
	showConnectionAges(nowMs);
	showEventAges(nowMs);
}, 1000);
