"""The loop behind `solve`: set-up, the compiled chunk of steps, measurements, the host loop."""
