import { useEffect, useRef, useState } from 'preact/hooks'

/** How wide an element is, in pixels, and a reference to give to it. */
export function useWidth<Box extends Element>(before: number) {
  const ref = useRef<Box>(null)
  const [width, setWidth] = useState(before)
  useEffect(() => {
    const box = ref.current
    if (box === null) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? before)))
    observer.observe(box)
    return () => observer.disconnect()
  }, [before])
  return { ref, width }
}
