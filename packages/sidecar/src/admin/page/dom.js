/** An element with attributes and children. Texts are only ever texts: nothing that a client or a registry says is read as HTML. */
export function element(tag, attributes = {}, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (value !== undefined) node.setAttribute(name, value);
	}
	node.append(...children);
	return node;
}

export function byId(id) {
	return document.getElementById(id);
}

/** The address of a view of this page that is filtered by a text. */
export function linkTo(view, filter) {
	return `?${new URLSearchParams({ ...(view !== 'services' && { view }), filter })}`;
}

/** Sets a text if it is another one: what stays the same must not be laid out, or read out, again. */
export function setText(node, text) {
	if (node.textContent !== text) node.textContent = text;
}

/** Sets an attribute if it is another one. */
export function setAttribute(node, name, value) {
	if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** Makes these nodes the children of a parent, moving as few as possible; what has the focus keeps it. */
export function arrange(parent, nodes) {
	const focused = document.activeElement;
	let next = parent.firstChild;
	for (const node of nodes) {
		if (node === next) next = next.nextSibling;
		else parent.insertBefore(node, next);
	}
	while (next !== null) {
		const after = next.nextSibling;
		next.remove();
		next = after;
	}
	if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}

const scrollers = new Map();
const scrolled = new ResizeObserver(() => {
	for (const [node, label] of scrollers) {
		if (!node.isConnected) scrollers.delete(node);
		else if (node.scrollWidth > node.clientWidth) {
			setAttribute(node, 'tabindex', '0');
			setAttribute(node, 'role', 'region');
			setAttribute(node, 'aria-label', label);
		} else for (const name of ['tabindex', 'role', 'aria-label']) node.removeAttribute(name);
	}
});

/** What is too wide can be scrolled, by the keyboard too: it takes the focus while it is too wide. */
export function scrollable(node, label) {
	scrollers.set(node, label);
	scrolled.observe(node);
	scrolled.observe(node.firstElementChild);
	return node;
}

/** Shows the first `limit` things of a list, and a button for more of them below. */
export class MoreButton {
	constructor(button, { step, noun, changed }) {
		this.limit = step;
		this.button = button;
		this.noun = noun;
		this.step = step;
		button.addEventListener('click', () => {
			this.limit += step;
			changed();
		});
	}

	/** Gives the part that is to be shown. */
	take(all) {
		const more = Math.min(this.step, all.length - this.limit);
		this.button.hidden = more <= 0;
		if (more > 0) setText(this.button, `Show ${more} more of ${all.length} ${this.noun}`);
		return all.length > this.limit ? all.slice(0, this.limit) : all;
	}

	reset() {
		this.limit = this.step;
	}
}
