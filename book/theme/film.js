'use strict';

// A figure in steps shows one at a time, by buttons or arrow keys; on paper, and where no script
// runs, all of them.
document.querySelectorAll('.film').forEach(film => {
    const frames = [...film.querySelectorAll('.frame')];
    const place = document.createElement('span');
    let at = 0;

    function show(number) {
        at = Math.max(0, Math.min(number, frames.length - 1));
        frames.forEach((frame, i) => { frame.hidden = i !== at; });
        place.textContent = `Step ${at + 1} of ${frames.length}`;
        back.setAttribute('aria-disabled', at === 0);
        next.setAttribute('aria-disabled', at === frames.length - 1);
    }

    function button(text, way) {
        const made = document.createElement('button');
        made.type = 'button';
        made.textContent = text;
        made.addEventListener('click', () => show(at + way));
        return made;
    }

    const back = button('← Back', -1), next = button('Next →', 1);
    const keys = document.createElement('div');
    keys.className = 'keys';
    keys.append(back, place, next);
    film.prepend(keys);
    film.querySelector('.frames').setAttribute('aria-live', 'polite');
    film.classList.add('stepped');
    film.tabIndex = 0;  // who clicks on the drawing has the keys too, which elsewhere turn the page
    film.addEventListener('keydown', event => {
        const last = frames.length - 1;
        const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last}[event.key];
        if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        event.stopPropagation();
        show(to);
    });
    // A search may have led to another step than the first.
    addEventListener('load', () => show(frames.findIndex(frame => frame.querySelector('mark'))));
    show(0);
});
